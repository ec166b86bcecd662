import { JOB, type Scene, SET } from "./scene";
import type { Size, View } from "./view";

export interface Look {
  dark: boolean;
  background: string;
  chosen: number | null;
  marked: Set<number> | null; // these stand out, the others fade
}

const FINE = 600; // edges in view; with more of them lines are straight, and nodes plain
const READABLE = 0.45; // the zoom from which names can be read
const MOST_NAMES = 500;
const SMALLEST = 3; // pixels of a node
const BATCH = 200; // lines drawn at once: a path of thousands takes longer than its parts
const MARK = "#e8590c";
const FADED = 0.16;

interface Inks {
  text: string;
  line: string;
  set: string;
  setBorder: string;
  job: string;
  jobBorder: string;
}

const LIGHT: Inks = {
  text: "#2b2433",
  line: "#a79fb3",
  set: "#9c63d3",
  setBorder: "#5b2a86",
  job: "#63c28e",
  jobBorder: "#1f7a4d",
};
const DARK: Inks = {
  text: "#e4e0ea",
  line: "#6d6579",
  set: "#8a4cc4",
  setBorder: "#d5bceb",
  job: "#2b8a5b",
  jobBorder: "#8fd6b0",
};

/** Draw what can be seen of a scene; the canvas is cleared before. */
export function paint(ctx: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, look: Look): void {
  const inks = look.dark ? DARK : LIGHT;
  ctx.fillStyle = look.background;
  ctx.fillRect(0, 0, size.width, size.height);
  const edges = edgesInView(scene, view, size);
  const fine = edges.length <= FINE;
  const { ordinary, marked } = parted(edges, (edge) => {
    const { from, to } = scene;
    return look.marked !== null && look.marked.has(from[edge] ?? 0) && look.marked.has(to[edge] ?? 0);
  });
  ctx.globalAlpha = look.marked ? FADED : 1;
  paintEdges(ctx, scene, view, ordinary, { fine, color: inks.line, width: 1.4 });
  ctx.globalAlpha = 1;
  paintEdges(ctx, scene, view, marked, { fine: fine || marked.length <= FINE, color: MARK, width: 3 });
  const nodes = nodesInView(scene, view, size);
  for (const node of nodes) {
    ctx.globalAlpha = look.marked && !look.marked.has(node) && node !== look.chosen ? FADED : 1;
    paintNode(ctx, scene, view, node, nodes.length <= FINE, inks, look);
  }
  if (view.zoom >= READABLE && nodes.length <= MOST_NAMES) paintNames(ctx, scene, view, nodes, inks, look);
  ctx.globalAlpha = 1;
}

function edgesInView({ from, to, xs, ys }: Scene, { zoom, x, y }: View, { width, height }: Size): number[] {
  const [left, right, top, bottom] = [-x / zoom, (width - x) / zoom, -y / zoom, (height - y) / zoom];
  const seen: number[] = [];
  for (let edge = 0; edge < from.length; edge += 1) {
    const [a, b] = [from[edge] ?? 0, to[edge] ?? 0];
    const [ax, bx, ay, by] = [xs[a] ?? 0, xs[b] ?? 0, ys[a] ?? 0, ys[b] ?? 0];
    if (Math.max(ax, bx) < left || Math.min(ax, bx) > right) continue;
    if (Math.max(ay, by) < top || Math.min(ay, by) > bottom) continue;
    seen.push(edge);
  }
  return seen;
}

function nodesInView({ xs, ys }: Scene, { zoom, x, y }: View, { width, height }: Size): number[] {
  const seen: number[] = [];
  for (let node = 0; node < xs.length; node += 1) {
    const [atX, atY] = [zoom * (xs[node] ?? 0) + x, zoom * (ys[node] ?? 0) + y];
    if (atX > -160 * zoom && atX < width + 90 * zoom && atY > -40 * zoom && atY < height + 30 * zoom) seen.push(node);
  }
  return seen;
}

function parted(items: number[], wanted: (item: number) => boolean) {
  const ordinary: number[] = [];
  const marked: number[] = [];
  for (const item of items) (wanted(item) ? marked : ordinary).push(item);
  return { ordinary, marked };
}

interface Stroke {
  fine: boolean;
  color: string;
  width: number;
}

function paintEdges(ctx: CanvasRenderingContext2D, scene: Scene, view: View, edges: number[], stroke: Stroke): void {
  const { zoom } = view;
  ctx.strokeStyle = ctx.fillStyle = stroke.color;
  ctx.lineWidth = stroke.fine ? stroke.width * Math.max(zoom, 0.5) : Math.min(1, stroke.width * zoom + 0.4);
  const draw = stroke.fine ? curve : straight;
  for (const dashed of stroke.fine ? [false, true] : [null]) {
    ctx.setLineDash(dashed ? [6 * zoom, 4 * zoom] : []);
    const some = dashed === null ? edges : edges.filter((edge) => scene.isCreation[edge] === dashed);
    for (let start = 0; start < some.length; start += BATCH) {
      ctx.beginPath();
      for (const edge of some.slice(start, start + BATCH)) draw(ctx, scene, view, edge);
      ctx.stroke();
    }
  }
  ctx.setLineDash([]);
  if (!stroke.fine) return;
  ctx.beginPath();
  for (const edge of edges) arrow(ctx, scene, view, edge);
  ctx.fill();
}

function straight(ctx: CanvasRenderingContext2D, { xs, ys, from, to }: Scene, view: View, edge: number): void {
  const [a, b] = [from[edge] ?? 0, to[edge] ?? 0];
  ctx.moveTo(view.zoom * (xs[a] ?? 0) + view.x, view.zoom * (ys[a] ?? 0) + view.y);
  ctx.lineTo(view.zoom * (xs[b] ?? 0) + view.x, view.zoom * (ys[b] ?? 0) + view.y);
}

const ARROW = 7;

/** Out of one node where edges leave, into another where they arrive. */
function curve(ctx: CanvasRenderingContext2D, scene: Scene, view: View, edge: number): void {
  const [a, b] = [scene.from[edge] ?? 0, scene.to[edge] ?? 0];
  const [startX, startY] = beside(scene, view, a, 1, 0);
  const [endX, endY] = beside(scene, view, b, -1, ARROW);
  const { zoom } = view;
  const way = scene.tall ? endY - startY : endX - startX;
  const bend = Math.max(8 * zoom, Math.min(way / 2, 90 * zoom));
  ctx.moveTo(startX, startY);
  if (scene.tall) ctx.bezierCurveTo(startX, startY + bend, endX, endY - bend, endX, endY);
  else ctx.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX, endY);
}

function arrow(ctx: CanvasRenderingContext2D, scene: Scene, view: View, edge: number): void {
  const b = scene.to[edge] ?? 0;
  const [x, y] = beside(scene, view, b, -1, ARROW);
  const [tipX, tipY] = beside(scene, view, b, -1, 0);
  const [acrossX, acrossY] = scene.tall ? [3.5 * view.zoom, 0] : [0, 3.5 * view.zoom];
  ctx.moveTo(tipX, tipY);
  ctx.lineTo(x - acrossX, y - acrossY);
  ctx.lineTo(x + acrossX, y + acrossY);
  ctx.closePath();
}

/** A point just before (-1) or behind (1) a node, in the direction of its edges. */
function beside(scene: Scene, view: View, node: number, side: 1 | -1, gap: number): [number, number] {
  const shape = scene.isJob[node] ? JOB : SET;
  const away = side * ((scene.tall ? shape.height : shape.width) / 2 + gap);
  const [x, y] = [scene.xs[node] ?? 0, scene.ys[node] ?? 0];
  const [atX, atY] = scene.tall ? [x, y + away] : [x + away, y];
  return [view.zoom * atX + view.x, view.zoom * atY + view.y];
}

function paintNode(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  node: number,
  fine: boolean,
  inks: Inks,
  look: Look,
): void {
  const isJob = scene.isJob[node];
  const chosen = node === look.chosen;
  const marked = look.marked?.has(node) ?? false;
  const grown = chosen ? 1.25 : 1;
  const shape = isJob ? JOB : SET;
  const width = Math.max(SMALLEST, shape.width * view.zoom * grown);
  const height = Math.max(SMALLEST, shape.height * view.zoom * grown);
  const x = view.zoom * (scene.xs[node] ?? 0) + view.x;
  const y = view.zoom * (scene.ys[node] ?? 0) + view.y;
  ctx.fillStyle = isJob ? inks.job : inks.set;
  const outlined = chosen || marked || fine;
  if (!outlined && (!isJob || width < 8)) {
    ctx.fillRect(x - width / 2, y - height / 2, width, height);
    return;
  }
  ctx.beginPath();
  if (isJob) {
    ctx.moveTo(x - width / 2, y);
    ctx.lineTo(x, y - height / 2);
    ctx.lineTo(x + width / 2, y);
    ctx.lineTo(x, y + height / 2);
    ctx.closePath();
  } else {
    ctx.roundRect(x - width / 2, y - height / 2, width, height, 5 * view.zoom);
  }
  ctx.fill();
  if (!outlined) return;
  ctx.strokeStyle = chosen || marked ? MARK : isJob ? inks.jobBorder : inks.setBorder;
  ctx.lineWidth = chosen ? Math.max(2.5, 4 * view.zoom) : marked ? Math.max(1.5, 3 * view.zoom) : 1.5 * view.zoom;
  ctx.stroke();
}

function paintNames(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  nodes: number[],
  inks: Inks,
  look: Look,
): void {
  ctx.textAlign = scene.tall ? "left" : "center";
  ctx.textBaseline = scene.tall ? "middle" : "top";
  const [aside, below] = scene.tall ? [SET.width / 2 + 5, 0] : [0, JOB.height / 2 + 5];
  ctx.lineJoin = "round";
  ctx.lineWidth = 3;
  ctx.strokeStyle = look.background;
  ctx.fillStyle = inks.text;
  const haloed = nodes.length <= 150; // so that a line behind a name does not spoil it
  for (const jobs of [false, true]) {
    const letters = (jobs ? 10 : 12) * view.zoom ** 0.65; // smaller from afar, but not as the rest
    if (letters < 6) continue;
    ctx.font = `${letters}px system-ui, "DejaVu Sans", sans-serif`;
    for (const node of nodes) {
      if (scene.isJob[node] !== jobs) continue;
      ctx.globalAlpha = look.marked && !look.marked.has(node) && node !== look.chosen ? FADED : 1;
      const x = view.zoom * ((scene.xs[node] ?? 0) + aside) + view.x;
      const y = view.zoom * ((scene.ys[node] ?? 0) + below) + view.y;
      const name = scene.labels[node] ?? "";
      if (haloed) ctx.strokeText(name, x, y);
      ctx.fillText(name, x, y);
    }
  }
}
