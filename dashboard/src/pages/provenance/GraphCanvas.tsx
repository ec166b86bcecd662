import { useComputedColorScheme } from "@mantine/core";
import { type KeyboardEvent, type Ref, useEffect, useImperativeHandle, useMemo, useRef } from "react";
import { byKey } from "./gestures";
import type { Hover } from "./HoverCard";
import type { Look } from "./paint";
import { sceneOf } from "./scene";
import { Stage } from "./stage";
import type { Placed } from "./useDrawing";

export interface GraphHandle {
  picture: () => void;
  fit: () => void;
  show: (id: string) => void;
}

interface GraphCanvasProps {
  placed: Placed;
  chosen: string | null;
  marked: Set<string> | null; // these stand out, the others fade
  onChoose: (id: string | null) => void;
  onHover: (hover: Hover | null) => void;
  label: string;
  handle: Ref<GraphHandle>;
}

export function GraphCanvas(props: GraphCanvasProps) {
  const { placed, chosen, marked, handle } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const scene = useMemo(() => sceneOf(placed), [placed]);
  const look = useMemo<Look>(
    () => ({
      dark: scheme === "dark",
      background: scheme === "dark" ? "#242424" : "#ffffff",
      chosen: chosen === null ? null : (scene.place.get(chosen) ?? null),
      marked: marked && new Set([...marked].flatMap((id) => scene.place.get(id) ?? [])),
    }),
    [scheme, scene, chosen, marked],
  );
  const now = useRef({ props, scene, look });
  now.current = { props, scene, look };

  useEffect(() => {
    if (!canvas.current) return;
    const made = new Stage(canvas.current, now.current.scene, now.current.look, {
      onTap: (node) => now.current.props.onChoose(idOf(node)),
      onHover: (hover) =>
        now.current.props.onHover(hover && { id: idOf(hover.node) ?? "", ...hover }),
    });
    const idOf = (node: number | null) => (node === null ? null : (now.current.scene.ids[node] ?? null));
    stage.current = made;
    return () => {
      stage.current = null;
      made.close();
    };
  }, []);

  useEffect(() => stage.current?.show(scene), [scene]);
  useEffect(() => stage.current?.dress(look), [look]);

  useImperativeHandle(handle, () => ({
    fit: () => stage.current?.fit(),
    show: (id) => {
      const node = scene.place.get(id);
      if (node !== undefined) stage.current?.centre(node);
    },
    picture: () => stage.current?.picture().toBlob((blob) => blob && save(blob, "provenance.png")),
  }));

  function press(event: KeyboardEvent) {
    const at = stage.current;
    if (!at) return;
    if (event.key === "0") at.fit();
    const next = byKey(event.key, at.seenFrom(), at.middle());
    if (!next) return;
    event.preventDefault();
    at.look(next);
  }

  return (
    <div
      className="graph"
      role="group"
      aria-label="Graph: arrow keys move it, + and − zoom, 0 fits it"
      tabIndex={0}
      onKeyDown={press}
      data-nodes={scene.ids.length}
    >
      <canvas ref={canvas} role="img" aria-label={props.label} />
    </div>
  );
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
