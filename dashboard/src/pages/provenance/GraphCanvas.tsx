import { useComputedColorScheme } from "@mantine/core";
import cytoscape, { type Core, type StylesheetJson } from "cytoscape";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { Drawing, Point } from "./graph";

export interface GraphHandle {
  picture: () => void;
  fit: () => void;
  show: (id: string) => void;
}

interface GraphCanvasProps {
  drawing: Drawing;
  points: Map<string, Point>;
  chosen: string | null;
  marked: Set<string> | null; // these stand out, the others fade
  onChoose: (id: string | null) => void;
  onHover: (hover: { id: string; x: number; y: number } | null) => void;
  label: string;
  handle: Ref<GraphHandle>;
}

const LARGE = 600; // nodes; beyond it the drawing is plainer, so that it stays quick
const READABLE = 0.45; // the zoom from which names can be read
const MOST_NAMES = 400;

export function GraphCanvas(props: GraphCanvasProps) {
  const { drawing, points, chosen, marked, handle } = props;
  const box = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const acts = useRef(props);
  acts.current = props;
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const large = drawing.nodes.length > LARGE;

  useEffect(() => {
    if (!box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    const cy = cytoscape({
      ...fitted(points, width, height),
      container: box.current,
      style: look(scheme === "dark", large),
      minZoom: 0.02,
      maxZoom: 3,
      autoungrabify: true,
      boxSelectionEnabled: false,
      hideEdgesOnViewport: large,
      textureOnViewport: large,
      pixelRatio: large ? 1 : "auto",
    });
    // Added afterwards, with their places: as part of the options they would be laid out first.
    cy.add(elements(drawing, points));
    if (large) nameWhatIsSeen(cy);
    cy.on("tap", "node", (event) => acts.current.onChoose(event.target.id()));
    cy.on("tap", (event) => {
      if (event.target === cy) acts.current.onChoose(null);
    });
    cy.on("mouseover", "node", (event) => {
      const { x, y } = event.target.renderedPosition();
      acts.current.onHover({ id: event.target.id(), x, y });
    });
    cy.on("mouseout viewport", () => acts.current.onHover(null));
    core.current = cy;
    return () => {
      core.current = null;
      cy.destroy();
    };
  }, [drawing, points, scheme, large]);

  useEffect(() => {
    const cy = core.current;
    if (!cy) return;
    cy.batch(() => {
      cy.nodes(".chosen").removeClass("chosen");
      if (chosen) cy.getElementById(chosen).addClass("chosen");
    });
  }, [chosen, drawing, points, scheme]);

  useEffect(() => {
    const cy = core.current;
    if (!cy) return;
    cy.batch(() => {
      cy.elements(".faded, .marked").removeClass("faded marked");
      if (!marked) return;
      cy.nodes().forEach((node) => {
        node.addClass(marked.has(node.id()) ? "marked" : "faded");
      });
      cy.edges().forEach((edge) => {
        const inside = marked.has(edge.source().id()) && marked.has(edge.target().id());
        edge.addClass(inside ? "marked" : "faded");
      });
    });
  }, [marked, drawing, points, scheme]);

  useImperativeHandle(handle, () => ({
    fit: () => core.current?.animate({ fit: { eles: core.current.elements(), padding: 40 } }),
    show: (id) => {
      const cy = core.current;
      if (!cy) return;
      const node = cy.getElementById(id);
      if (node.nonempty()) cy.animate({ center: { eles: node }, zoom: Math.max(cy.zoom(), 0.9) });
    },
    picture: () => {
      const cy = core.current;
      if (!cy) return;
      const blob = cy.png({
        full: true,
        output: "blob",
        bg: getComputedStyle(document.body).backgroundColor,
        maxWidth: 8000,
        maxHeight: 8000,
        scale: 2,
      }) as unknown as Blob;
      const url = URL.createObjectURL(blob);
      const link = document.createElement("a");
      link.href = url;
      link.download = "provenance.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    },
  }));

  return (
    <div
      ref={box}
      role="img"
      aria-label={props.label}
      style={{ position: "absolute", inset: 0 }}
      data-nodes={drawing.nodes.length}
    />
  );
}

/** Zoom and pan that show all, computed from the places alone: measuring 8,000 nodes takes long. */
function fitted(points: Map<string, Point>, width: number, height: number) {
  const [xs, ys] = [[...points.values()].map((one) => one.x), [...points.values()].map((one) => one.y)];
  const min = (values: number[]) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const max = (values: number[]) => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const [left, right, top, bottom] = [min(xs) - 80, max(xs) + 80, min(ys) - 40, max(ys) + 50];
  const zoom = Math.min(width / (right - left), height / (bottom - top), 1.2);
  return {
    zoom,
    pan: { x: width / 2 - (zoom * (left + right)) / 2, y: height / 2 - (zoom * (top + bottom)) / 2 },
  };
}

/** Names are drawn only where they can be read; laying all of them out takes seconds. */
function nameWhatIsSeen(cy: Core): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  cy.on("viewport", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (cy.destroyed()) return;
      const { x1, x2, y1, y2 } = cy.extent();
      const seen =
        cy.zoom() < READABLE
          ? cy.collection()
          : cy.nodes().filter((node) => {
              const { x, y } = node.position();
              return x > x1 && x < x2 && y > y1 && y < y2;
            });
      cy.batch(() => {
        cy.nodes(".named").removeClass("named");
        if (seen.length <= MOST_NAMES) seen.addClass("named");
      });
    }, 150);
  });
}

function elements(drawing: Drawing, points: Map<string, Point>): cytoscape.ElementDefinition[] {
  return [
    ...drawing.nodes.map((node) => ({
      group: "nodes" as const,
      data: { id: node.id, label: node.label },
      classes: node.kind,
      position: { ...(points.get(node.id) ?? { x: 0, y: 0 }) },
    })),
    ...drawing.edges.map((edge) => ({
      group: "edges" as const,
      data: { id: `${edge.source}→${edge.target}`, source: edge.source, target: edge.target },
      classes: edge.kind === "job" ? "by-job" : "by-creation",
    })),
  ];
}

function look(dark: boolean, large: boolean): StylesheetJson {
  const ink = dark ? "#e4e0ea" : "#2b2433";
  const line = dark ? "#6d6579" : "#a79fb3";
  return [
    {
      selector: "node",
      style: {
        label: large ? "" : "data(label)",
        color: ink,
        "font-size": 12,
        "min-zoomed-font-size": 7,
        "text-wrap": large ? "none" : "ellipsis",
        "text-max-width": "150px",
        "text-valign": "bottom",
        "text-margin-y": 4,
        "border-width": large ? 0 : 1.5,
      },
    },
    { selector: "node.named", style: { label: "data(label)" } },
    {
      selector: "node.set",
      style: {
        shape: large ? "rectangle" : "round-rectangle",
        width: 26,
        height: 18,
        "background-color": dark ? "#8a4cc4" : "#9c63d3",
        "border-color": dark ? "#d5bceb" : "#5b2a86",
      },
    },
    {
      selector: "node.job",
      style: {
        shape: "diamond",
        width: 20,
        height: 20,
        "font-size": 9,
        "background-color": dark ? "#2b8a5b" : "#63c28e",
        "border-color": dark ? "#8fd6b0" : "#1f7a4d",
      },
    },
    {
      selector: "edge",
      style: {
        width: 1.4,
        "line-color": line,
        "curve-style": large ? "haystack" : "bezier",
        "target-arrow-shape": large ? "none" : "triangle",
        "target-arrow-color": line,
        "arrow-scale": 0.8,
      },
    },
    { selector: "edge.by-creation", style: { "line-style": large ? "solid" : "dashed" } },
    { selector: ".faded", style: { opacity: 0.16 } },
    {
      selector: "edge.marked",
      style: { "line-color": "#e8590c", "target-arrow-color": "#e8590c", width: 3 },
    },
    { selector: "node.marked", style: { "border-color": "#e8590c", "border-width": 3 } },
    {
      selector: "node.chosen",
      style: { "border-color": "#e8590c", "border-width": 4, width: 32, height: 24 },
    },
  ];
}
