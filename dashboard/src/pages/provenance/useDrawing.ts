import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, got, type Schemas } from "../../api/client";
import { type Drawing, drawing, type LayoutRequest, type Point } from "./graph";
import { type Direction, partsOf } from "./links";

const MOST = 20_000;

/** The whole project's graph, read page by page. */
export function useWholeGraph(enabled: boolean) {
  return useQuery({
    queryKey: ["provenance", "whole"],
    enabled,
    queryFn: async (): Promise<Drawing> => {
      const nodes: Schemas["GraphNode"][] = [];
      let cursor: string | undefined;
      do {
        const page = await got(
          api.GET("/api/v1/provenance", { params: { query: { limit: 1000, cursor } } }),
        );
        nodes.push(...page.items);
        cursor = page.next ?? undefined;
      } while (cursor && nodes.length < MOST);
      return drawing(
        nodes.map((node) => node.set),
        nodes.flatMap((node) => node.sources),
      );
    },
  });
}

/** What a set comes from, or what came from it, so many steps far. */
export function useTrace(from: string | null, direction: Direction, depth: number | null) {
  return useQuery({
    queryKey: ["provenance", "trace", from, direction, depth],
    enabled: from !== null,
    placeholderData: (before) => before,
    queryFn: async () => {
      const trace = await got(
        api.GET("/api/v1/sets/{name}/versions/{version}/trace", {
          params: { path: partsOf(from ?? ""), query: { direction, depth: depth ?? undefined } },
        }),
      );
      const sets = trace.nodes.map((node) => node.set);
      return { complete: trace.complete, drawing: drawing(sets, trace.edges) };
    },
  });
}

/** Every way between two sets, as the ids of its nodes. */
export function usePath(one: string | null, other: string | null) {
  return useQuery({
    queryKey: ["provenance", "path", one, other],
    enabled: one !== null && other !== null,
    queryFn: async () => {
      const reference = (id: string | null) => (id ?? "").replace(/^set:/, "");
      const path = await got(
        api.GET("/api/v1/provenance/path", {
          params: { query: { one: reference(one), other: reference(other) } },
        }),
      );
      return drawing(path.nodes, path.edges).nodes.map((node) => node.id);
    },
  });
}

/** A drawing with a place for each of its nodes. */
export interface Placed {
  drawing: Drawing;
  points: Map<string, Point>;
  tall: boolean;
}

/** The latest drawing that has been placed, which is done beside the page so that it stays alive. */
export function usePlaced(drawn: Drawing | undefined, tall: boolean): Placed | null {
  const [placed, setPlaced] = useState<Placed | null>(null);
  const worker = useRef<Worker | null>(null);
  useEffect(() => {
    worker.current = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    return () => worker.current?.terminate();
  }, []);
  useEffect(() => {
    const placing = worker.current;
    if (!drawn || !placing) return;
    const take = ({ data }: MessageEvent<Map<string, Point>>) => {
      if (drawn.nodes.every((node) => data.has(node.id))) setPlaced({ drawing: drawn, points: data, tall });
    };
    placing.addEventListener("message", take);
    placing.postMessage({
      ids: drawn.nodes.map((node) => node.id),
      edges: drawn.edges.map((edge) => [edge.source, edge.target]),
      tall,
    } satisfies LayoutRequest);
    return () => placing.removeEventListener("message", take);
  }, [drawn, tall]);
  return placed;
}
