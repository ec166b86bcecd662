import type { LayoutRequest, Point } from "./graph";

const GAP = 60; // between two parts of a drawing

/** The parts of a graph that no edge joins, each in the order in which its nodes were given. */
export function partsOfGraph({ ids, edges }: LayoutRequest): Omit<LayoutRequest, "tall">[] {
  const above = new Map(ids.map((id) => [id, id]));
  const top = (id: string): string => {
    let at = id;
    for (;;) {
      const next = above.get(at) ?? at;
      if (next === at) return at;
      above.set(at, above.get(next) ?? next);
      at = next;
    }
  };
  for (const [source, target] of edges) above.set(top(source), top(target));
  const parts = new Map<string, Omit<LayoutRequest, "tall">>();
  for (const id of ids) {
    const part = parts.get(top(id)) ?? { ids: [], edges: [] };
    part.ids.push(id);
    parts.set(top(id), part);
  }
  for (const edge of edges) parts.get(top(edge[0]))?.edges.push(edge);
  return [...parts.values()];
}

interface Piece {
  points: Map<string, Point>;
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Placed parts beside and below one another, together about `aspect` times as wide as high. */
export function packed(parts: Map<string, Point>[], aspect: number): Map<string, Point> {
  const pieces = parts.map(measured).toSorted((a, b) => b.height - a.height);
  const area = pieces.reduce((sum, one) => sum + one.width * one.height, 0);
  const widest = pieces.reduce((most, one) => Math.max(most, one.width), Math.sqrt(area * aspect));
  const all = new Map<string, Point>();
  let [x, y, shelf] = [0, 0, 0];
  for (const piece of pieces) {
    if (x > 0 && x + piece.width > widest) [x, y, shelf] = [0, y + shelf, 0];
    for (const [id, at] of piece.points) {
      all.set(id, { x: x + at.x - piece.left, y: y + at.y - piece.top });
    }
    x += piece.width;
    shelf = Math.max(shelf, piece.height);
  }
  return all;
}

function measured(points: Map<string, Point>): Piece {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [top, bottom] = [left, right];
  for (const { x, y } of points.values()) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return { points, left, top, width: right - left + 2.5 * GAP, height: bottom - top + GAP };
}
