import { type Hands, listen } from "./gestures";
import type { Point } from "./graph";
import { type Look, paint } from "./paint";
import { nodeAt, type Scene } from "./scene";
import { between, centred, fitted, moved, type Size, toGraph, type View } from "./view";

export interface Audience {
  onTap: (node: number | null) => void;
  onHover: (hover: { node: number; at: Point; size: Size } | null) => void;
}

const NEAR = 4; // pixels beside a node that still mean it
const FINGER = 14;
const TRAVEL = 220; // milliseconds from one view to the next
const SHOWN_AT = 0.9; // the zoom at which one node is shown
const PICTURE = { scale: 2, most: 8000 };

/** A canvas with a scene on it: draws once a frame at most, and only when something changed. */
export class Stage {
  private view: View | null = null;
  private touched = false; // somebody has chosen this view, so it is kept
  private size: Size = { width: 0, height: 0 };
  private frame = 0;
  private hovered: number | null = null;
  private closing: (() => void)[] = [];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private scene: Scene,
    private dressed: Look,
    private readonly audience: Audience,
  ) {
    const hands: Hands = {
      view: () => this.seenFrom(),
      look: (view) => this.look(view),
      tap: (at, byFinger) => this.audience.onTap(this.nodeUnder(at, byFinger ? FINGER : NEAR)),
      point: (at) => this.hover(at),
    };
    const watch = new ResizeObserver(() => this.measure());
    watch.observe(canvas);
    this.closing.push(listen(canvas, hands), () => watch.disconnect());
    this.measure();
  }

  /** The graph as it is now; what a user looks at stays where it is. */
  show(scene: Scene): void {
    if (scene === this.scene) return;
    this.view = this.touched ? this.sameIn(scene) : null;
    this.scene = scene;
    this.draw();
  }

  dress(look: Look): void {
    this.dressed = look;
    this.draw();
  }

  /** From there, as a hand wants it. */
  look(view: View): void {
    this.touched = true;
    this.jump(view);
  }

  fit(): void {
    this.touched = false;
    this.travel(fitted(this.scene.bounds, this.size));
  }

  centre(node: number): void {
    const at = { x: this.scene.xs[node] ?? 0, y: this.scene.ys[node] ?? 0 };
    this.touched = true;
    this.travel(centred(at, Math.max(this.seenFrom().zoom, SHOWN_AT), this.size));
  }


  seenFrom(): View {
    this.view ??= fitted(this.scene.bounds, this.size);
    return this.view;
  }

  middle(): Point {
    return { x: this.size.width / 2, y: this.size.height / 2 };
  }

  /** All of the scene, on a canvas of its own. */
  picture(): HTMLCanvasElement {
    const { left, right, top, bottom } = this.scene.bounds;
    const [across, down] = [right - left, bottom - top];
    const zoom = Math.min(PICTURE.scale, PICTURE.most / across, PICTURE.most / down);
    const size = { width: Math.ceil(across * zoom), height: Math.ceil(down * zoom) };
    const canvas = Object.assign(document.createElement("canvas"), size);
    const ctx = canvas.getContext("2d");
    if (ctx) paint(ctx, this.scene, { zoom, x: -left * zoom, y: -top * zoom }, size, this.dressed);
    return canvas;
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    for (const close of this.closing) close();
  }

  private jump(view: View): void {
    this.hover(null);
    this.view = view;
    this.draw();
  }

  /** The view in which the node in the middle stays there; null if it is gone. */
  private sameIn(scene: Scene): View | null {
    const view = this.seenFrom();
    const before = nodeAt(this.scene, toGraph(view, this.middle()), Number.POSITIVE_INFINITY);
    const after = before === null ? undefined : scene.place.get(this.scene.ids[before] ?? "");
    if (before === null || after === undefined) return null;
    const dx = (this.scene.xs[before] ?? 0) - (scene.xs[after] ?? 0);
    const dy = (this.scene.ys[before] ?? 0) - (scene.ys[after] ?? 0);
    return moved(view, dx * view.zoom, dy * view.zoom);
  }

  private measure(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === this.size.width && height === this.size.height) return;
    this.size = { width, height };
    if (!this.touched) this.view = null;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.paint(); // at once: a canvas of a new size is empty
  }

  private draw(): void {
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  private paint(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const ctx = this.canvas.getContext("2d", { alpha: false });
    if (!ctx || this.size.width === 0) return;
    const ratio = this.canvas.width / this.size.width;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(ctx, this.scene, this.seenFrom(), this.size, this.dressed);
  }

  private travel(to: View): void {
    const from = this.seenFrom();
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.jump(to);
      return;
    }
    const began = performance.now();
    let expected = from;
    const step = (now: number) => {
      if (this.view !== expected) return; // a hand has taken over, or the scene has changed
      const done = Math.min(1, Math.max(0, (now - began) / TRAVEL));
      expected = between(from, to, done);
      this.jump(expected);
      if (done < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  private nodeUnder(at: Point, reach: number): number | null {
    const view = this.seenFrom();
    return nodeAt(this.scene, toGraph(view, at), reach / view.zoom);
  }

  private hover(at: Point | null): void {
    const node = at ? this.nodeUnder(at, NEAR) : null;
    if (node === this.hovered) return;
    this.hovered = node;
    this.canvas.style.cursor = node === null ? "" : "pointer";
    if (node === null) {
      this.audience.onHover(null);
      return;
    }
    const { zoom, x, y } = this.seenFrom();
    const place = { x: zoom * (this.scene.xs[node] ?? 0) + x, y: zoom * (this.scene.ys[node] ?? 0) + y };
    this.audience.onHover({ node, at: place, size: this.size });
  }
}
