/** Lines of a terminal as pieces of text, each with its colours. */

export interface Piece {
  text: string;
  color?: string;
  background?: string;
  bold?: boolean;
  italic?: boolean;
  underline?: boolean;
  dim?: boolean;
}

const BASIC = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const LIGHT = ["#1f1b24", "#b3261e", "#1b6e3a", "#7a5a00", "#1a56b0", "#8b2fa0", "#006b75", "#5a5560"];
const DARK = ["#9a94a5", "#ff8a80", "#7bd69a", "#e6c15a", "#8ab4ff", "#e39df5", "#6fd6e0", "#e4e0ea"];

/** A basic colour that reads well on the page's own background. */
function basic(index: number): string {
  return `light-dark(${LIGHT[index] ?? ""}, ${DARK[index] ?? ""})`;
}

function indexed(code: number): string {
  if (code < 16) return basic(code % 8);
  if (code >= 232) {
    const level = 8 + (code - 232) * 10;
    return `rgb(${level}, ${level}, ${level})`;
  }
  const at = code - 16;
  const step = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  return `rgb(${step(Math.floor(at / 36))}, ${step(Math.floor(at / 6) % 6)}, ${step(at % 6)})`;
}

// CSI sequences (of which only colours matter here), OSC sequences, and lone escapes.
const ESCAPE = /\u001b(?:\[([0-9;:]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export function parseAnsi(line: string): Piece[] {
  if (!line.includes("\u001b")) return [{ text: line }];
  const pieces: Piece[] = [];
  let style: Omit<Piece, "text"> = {};
  let at = 0;
  for (const found of line.matchAll(ESCAPE)) {
    if (found.index > at) pieces.push({ text: line.slice(at, found.index), ...style });
    at = found.index + found[0].length;
    if (found[2] === "m") style = restyle(style, found[1] ?? "");
  }
  if (at < line.length) pieces.push({ text: line.slice(at), ...style });
  return pieces;
}

export function plainText(line: string): string {
  return line.includes("\u001b") ? line.replace(ESCAPE, "") : line;
}

function restyle(before: Omit<Piece, "text">, parameters: string): Omit<Piece, "text"> {
  const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
  let style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extended(codes, at + 1);
      if (color) style = code === 38 ? { ...style, color } : { ...style, background: color };
      at += used;
    } else style = simple(style, code);
  }
  return style;
}

function extended(codes: number[], at: number): [string | null, number] {
  if (codes[at] === 5) return [indexed(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) {
    const [r = 0, g = 0, b = 0] = codes.slice(at + 1, at + 4);
    return [`rgb(${r}, ${g}, ${b})`, 4];
  }
  return [null, 0];
}

function simple(style: Omit<Piece, "text">, code: number): Omit<Piece, "text"> {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 39) return { ...style, color: undefined };
  if (code === 49) return { ...style, background: undefined };
  const bank = Math.floor(code / 10);
  const index = code % 10;
  if (index < BASIC.length) {
    if (bank === 3 || bank === 9) return { ...style, color: basic(index) };
    if (bank === 4 || bank === 10) return { ...style, background: basic(index) };
  }
  return style;
}
