import type { Point } from "./graph";
import type { Bounds } from "./scene";

/** Where a graph is seen from: a point p of it is drawn at `zoom * p + (x, y)`. */
export interface View {
  zoom: number;
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

const FURTHEST = 0.02;
const NEAREST = 3;
const FIT_NEAREST = 1.2;
const EDGE = 10;
const LEGEND = 44; // pixels at the bottom that are not for the graph

/** All of it, in the middle. */
export function fitted({ left, right, top, bottom }: Bounds, { width, height }: Size): View {
  const room = { width, height: Math.max(1, height - LEGEND) };
  const across = (room.width - 2 * EDGE) / (right - left);
  const down = (room.height - 2 * EDGE) / (bottom - top);
  const zoom = Math.max(0.001, Math.min(across, down, FIT_NEAREST));
  return centred({ x: (left + right) / 2, y: (top + bottom) / 2 }, zoom, room);
}

export function centred(at: Point, zoom: number, { width, height }: Size): View {
  return { zoom, x: width / 2 - zoom * at.x, y: height / 2 - zoom * at.y };
}

export function moved(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Nearer or further by a factor; what is drawn at `at` stays there. */
export function zoomed(view: View, factor: number, at: Point): View {
  const zoom = Math.min(NEAREST, Math.max(Math.min(FURTHEST, view.zoom), view.zoom * factor));
  const by = zoom / view.zoom;
  return { zoom, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by };
}

export function toGraph(view: View, at: Point): Point {
  return { x: (at.x - view.x) / view.zoom, y: (at.y - view.y) / view.zoom };
}

/** On the way from one view to another; `done` goes from 0 to 1. */
export function between(from: View, to: View, done: number): View {
  const eased = 1 - (1 - done) ** 3;
  const mix = (a: number, b: number) => a + (b - a) * eased;
  return { zoom: mix(from.zoom, to.zoom), x: mix(from.x, to.x), y: mix(from.y, to.y) };
}
