import type { Point } from "./graph";
import type { Placed } from "./useDrawing";

/** A placed drawing as plain arrays: thousands of nodes are walked through for every frame. */
export interface Scene {
  ids: string[];
  labels: string[];
  isJob: boolean[];
  xs: Float64Array;
  ys: Float64Array;
  from: Uint32Array; // edges, as places in the arrays above
  to: Uint32Array;
  isCreation: boolean[];
  tall: boolean; // edges lead downwards, and names stand beside the nodes
  place: Map<string, number>;
  bounds: Bounds;
}

export interface Bounds {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const SET = { width: 26, height: 18 };
export const JOB = { width: 20, height: 20 };
const LONGEST = 22; // characters of a label, as many as fit between two columns
const TALL_LONGEST = 18;
const MARGIN = { left: 80, right: 80, top: 40, bottom: 50 };
const TALL_MARGIN = { left: 30, right: 150, top: 60, bottom: 60 };

export function sceneOf({ drawing, points, tall }: Placed): Scene {
  const { nodes, edges } = drawing;
  const place = new Map(nodes.map((node, index) => [node.id, index]));
  const xs = Float64Array.from(nodes, (node) => points.get(node.id)?.x ?? 0);
  const ys = Float64Array.from(nodes, (node) => points.get(node.id)?.y ?? 0);
  const margin = tall ? TALL_MARGIN : MARGIN;
  return {
    ids: nodes.map((node) => node.id),
    labels: nodes.map((node) => shortened(node.label, tall ? TALL_LONGEST : LONGEST)),
    isJob: nodes.map((node) => node.kind === "job"),
    xs,
    ys,
    from: Uint32Array.from(edges, (edge) => place.get(edge.source) ?? 0),
    to: Uint32Array.from(edges, (edge) => place.get(edge.target) ?? 0),
    isCreation: edges.map((edge) => edge.kind === "creation"),
    tall,
    place,
    bounds: {
      left: least(xs) - margin.left,
      right: most(xs) + margin.right,
      top: least(ys) - margin.top,
      bottom: most(ys) + margin.bottom,
    },
  };
}

/** The node at a point of the graph, or the nearest one within `reach` around it. */
export function nodeAt(scene: Scene, at: Point, reach: number): number | null {
  let found: number | null = null;
  let nearest = Number.POSITIVE_INFINITY;
  for (let node = 0; node < scene.ids.length; node += 1) {
    const dx = Math.abs((scene.xs[node] ?? 0) - at.x);
    const dy = Math.abs((scene.ys[node] ?? 0) - at.y);
    if (dx > SET.width / 2 + reach || dy > SET.height / 2 + reach) continue;
    if (dx + dy < nearest) [found, nearest] = [node, dx + dy];
  }
  return found;
}

/** The end of a name tells its version, so it is the middle that goes. */
function shortened(label: string, longest: number): string {
  const letters = [...label];
  if (letters.length <= longest) return label;
  return `${letters.slice(0, longest - 9).join("")}…${letters.slice(-8).join("")}`;
}

function least(values: Float64Array): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function most(values: Float64Array): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
