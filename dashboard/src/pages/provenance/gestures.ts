import type { Point } from "./graph";
import { moved, type View, zoomed } from "./view";

export interface Hands {
  view: () => View;
  look: (view: View) => void; // from now on from there
  tap: (at: Point, byFinger: boolean) => void;
  point: (at: Point | null) => void; // the mouse rests there, or has left
}

const TAP = 5; // pixels that a hand may tremble
const STEP = 60;
const KEYS: Record<string, [number, number]> = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

/** Move and zoom by mouse, wheel and fingers, on an element; returns how to stop. */
export function listen(element: HTMLElement, hands: Hands): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const down = new Map<number, Point>();
  let travelled = 0;

  const at = (event: MouseEvent): Point => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  function press(event: PointerEvent) {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    if (down.size === 0) travelled = 0;
    down.set(event.pointerId, at(event));
    hands.point(null);
  }

  function drag(event: PointerEvent) {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") hands.point(now);
      return;
    }
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (travelled < TAP) return;
    if (!other) {
      hands.look(moved(hands.view(), now.x - before.x, now.y - before.y));
      return;
    }
    const [wasMiddle, middle] = [middleOf(before, other), middleOf(now, other)];
    const spread = apart(now, other) / Math.max(1, apart(before, other));
    const shifted = moved(hands.view(), middle.x - wasMiddle.x, middle.y - wasMiddle.y);
    hands.look(zoomed(shifted, spread, middle));
  }

  function lift(event: PointerEvent) {
    if (!down.delete(event.pointerId)) return;
    const tapped = event.type === "pointerup" && down.size === 0 && travelled < TAP;
    if (tapped) hands.tap(at(event), event.pointerType !== "mouse");
  }

  function turn(event: WheelEvent) {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const by = Math.max(-120, Math.min(120, event.deltaY * lines)) * (event.ctrlKey ? 4 : 1);
    hands.look(zoomed(hands.view(), Math.exp(-by * 0.002), at(event)));
  }

  element.addEventListener("pointerdown", press, { signal });
  element.addEventListener("pointermove", drag, { signal });
  element.addEventListener("pointerup", lift, { signal });
  element.addEventListener("pointercancel", lift, { signal });
  element.addEventListener("pointerleave", () => hands.point(null), { signal });
  element.addEventListener("wheel", turn, { signal, passive: false });
  return () => stop.abort();
}

/** The view that a key leads to; null for keys that mean nothing here. */
export function byKey(key: string, view: View, middle: Point): View | null {
  const step = KEYS[key];
  if (step) return moved(view, ...step);
  if (key === "+" || key === "=") return zoomed(view, 1.3, middle);
  if (key === "-") return zoomed(view, 1 / 1.3, middle);
  return null;
}

function middleOf(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

function apart(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
