import type { Schemas } from "../../api/client";

type SetVersion = Schemas["SetVersion"];
type Edge = Schemas["Edge"];

/** A node of the drawing: a set version, or the job between sets. */
export interface DrawnNode {
  id: string; // an entity: set:NAME:VERSION or job:ID
  kind: "set" | "job";
  label: string;
  set?: SetVersion;
}

export interface DrawnEdge {
  source: string;
  target: string;
  kind: "creation" | "job";
}

export interface Drawing {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

/** Sets and the edges between them, with a node of its own for every job. */
export function drawing(sets: SetVersion[], edges: Edge[]): Drawing {
  const nodes = new Map<string, DrawnNode>();
  for (const set of sets) {
    nodes.set(set.id, { id: set.id, kind: "set", label: `${set.name}:${set.version}`, set });
  }
  const drawn = new Map<string, DrawnEdge>();
  const join = (source: string, target: string, kind: DrawnEdge["kind"]) => {
    if (nodes.has(source) && nodes.has(target)) {
      drawn.set(`${source}→${target}`, { source, target, kind });
    }
  };
  // A job without an input has no edge of its own, but its output names it.
  for (const set of sets) {
    if (set.job) addJob(nodes, set.job);
  }
  for (const set of sets) {
    if (set.job) join(`job:${set.job}`, set.id, "job");
  }
  for (const edge of edges) {
    if (edge.job) {
      addJob(nodes, edge.job);
      join(edge.source, `job:${edge.job}`, "job");
      join(`job:${edge.job}`, edge.target, "job");
    } else {
      join(edge.source, edge.target, "creation");
    }
  }
  return { nodes: [...nodes.values()], edges: [...drawn.values()] };
}

function addJob(nodes: Map<string, DrawnNode>, job: string): void {
  const id = `job:${job}`;
  if (!nodes.has(id)) nodes.set(id, { id, kind: "job", label: job });
}

export interface Point {
  x: number;
  y: number;
}

export interface LayoutRequest {
  ids: string[];
  edges: [string, string][];
  tall: boolean; // from top to bottom, for a narrow window; else from left to right
}
