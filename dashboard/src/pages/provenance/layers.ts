import type { LayoutRequest, Point } from "./graph";
import { packed, partsOfGraph } from "./packing";

const ACROSS = 190;
const DOWN = 46;
const MOST_STRETCHED = 2.5;
const TALL = { across: 150 / DOWN, down: 80 / ACROSS }; // names need room beside the nodes

/**
 * A layered drawing in time that grows with the number of edges: thousands
 * of nodes are placed in milliseconds, where a thorough layout takes minutes.
 *
 * The layer of a node is its longest way from a source, or a later one if that makes its edges
 * shorter; within a layer nodes are ordered by the mean of their neighbours' places, in a few
 * sweeps.
 */
export function layered(request: LayoutRequest): Map<string, Point> {
  const parts = partsOfGraph(request).map((part) => placed({ ...part, tall: request.tall }));
  return packed(parts, request.tall ? 0.75 : 1.5);
}

function placed({ ids, edges, tall }: LayoutRequest): Map<string, Point> {
  const { out, into } = neighbours(ids, edges);
  const layers = layersOf(ids, out, into);
  const row = new Map<string, number>();
  for (const layer of layers) layer.forEach((id, index) => row.set(id, index));
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : layers.toReversed()) {
      order(layer, forward ? into : out, row);
    }
  }
  const points = place(layers, into, out);
  if (tall) {
    for (const [id, { x, y }] of points) points.set(id, { x: y * TALL.across, y: x * TALL.down });
  }
  return points;
}

type Links = Map<string, string[]>;

function neighbours(ids: string[], edges: [string, string][]): { out: Links; into: Links } {
  const out: Links = new Map(ids.map((id) => [id, []]));
  const into: Links = new Map(ids.map((id) => [id, []]));
  for (const [source, target] of edges) {
    out.get(source)?.push(target);
    into.get(target)?.push(source);
  }
  return { out, into };
}

function layersOf(ids: string[], out: Links, into: Links): string[][] {
  const waiting = new Map(ids.map((id) => [id, into.get(id)?.length ?? 0]));
  const depth = new Map<string, number>();
  const ready = ids.filter((id) => waiting.get(id) === 0);
  for (const id of ready) {
    const own = depth.get(id) ?? 0;
    depth.set(id, own);
    for (const next of out.get(id) ?? []) {
      depth.set(next, Math.max(depth.get(next) ?? 0, own + 1));
      const left = (waiting.get(next) ?? 1) - 1;
      waiting.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  for (const id of ready.toReversed()) {
    const next = out.get(id) ?? [];
    if (next.length === 0 || next.length < (into.get(id)?.length ?? 0)) continue;
    depth.set(id, Math.min(...next.map((one) => depth.get(one) ?? 0)) - 1);
  }
  const layers: string[][] = [];
  for (const id of ids) {
    const at = depth.get(id) ?? 0;
    while (layers.length <= at) layers.push([]);
    layers[at]?.push(id);
  }
  return layers;
}

function order(layer: string[], links: Links, row: Map<string, number>): void {
  const wish = new Map(
    layer.map((id) => {
      const linked = links.get(id) ?? [];
      if (linked.length === 0) return [id, row.get(id) ?? 0];
      return [id, linked.reduce((sum, one) => sum + (row.get(one) ?? 0), 0) / linked.length];
    }),
  );
  layer.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
  layer.forEach((id, index) => row.set(id, index));
}

/** Each node as near to the middle of its neighbours as its layer's order allows. */
function place(layers: string[][], into: Links, out: Links): Map<string, Point> {
  const y = new Map<string, number>();
  for (const layer of layers) {
    layer.forEach((id, index) => y.set(id, (index - (layer.length - 1) / 2) * DOWN));
  }
  for (let sweep = 0; sweep < 4; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : layers.toReversed()) {
      const links = forward ? into : out;
      const wish = layer.map((id) => {
        const linked = links.get(id) ?? [];
        const own = y.get(id) ?? 0;
        return linked.length === 0
          ? own
          : linked.reduce((sum, one) => sum + (y.get(one) ?? 0), 0) / linked.length;
      });
      spread(wish).forEach((at, index) => y.set(layer[index] ?? "", at));
    }
  }
  const points = new Map<string, Point>();
  const stretched = stretch(layers.length * ACROSS, [...y.values()]);
  layers.forEach((layer, column) => {
    for (const id of layer) points.set(id, { x: column * ACROSS, y: (y.get(id) ?? 0) * stretched });
  });
  return points;
}

/** Rows further apart where the drawing would be a narrow band. */
function stretch(width: number, ys: number[]): number {
  const height = ys.reduce((a, b) => Math.max(a, b), 0) - ys.reduce((a, b) => Math.min(a, b), 0);
  return Math.max(1, Math.min(MOST_STRETCHED, width / 2 / Math.max(1, height)));
}

/** The wishes moved apart to at least one row, by pooling neighbours that are too close. */
function spread(wish: number[]): number[] {
  const pools: { sum: number; count: number }[] = [];
  wish.forEach((value, index) => {
    pools.push({ sum: value - index * DOWN, count: 1 });
    for (;;) {
      const last = pools.at(-1);
      const before = pools.at(-2);
      if (!last || !before || before.sum / before.count <= last.sum / last.count) return;
      pools.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  });
  const placed: number[] = [];
  for (const pool of pools) {
    for (let left = pool.count; left > 0; left -= 1) {
      placed.push(pool.sum / pool.count + placed.length * DOWN);
    }
  }
  return placed;
}
