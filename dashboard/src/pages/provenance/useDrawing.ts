import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
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

/** Places for the nodes, computed beside the page so that it stays alive. */
export function useLayout(drawn: Drawing | undefined): Map<string, Point> | null {
  const request = useMemo<LayoutRequest | null>(
    () =>
      drawn
        ? {
            ids: drawn.nodes.map((node) => node.id),
            edges: drawn.edges.map((edge) => [edge.source, edge.target]),
          }
        : null,
    [drawn],
  );
  const [points, setPoints] = useState<Map<string, Point> | null>(null);
  useEffect(() => {
    if (!request) return;
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Map<string, Point>>) => setPoints(data);
    worker.postMessage(request);
    return () => worker.terminate();
  }, [request]);
  return points;
}
