import { formatWhole } from "../../format";

export const LONGEST = 10_000; // characters of a line that are kept to be shown
export const MOST = 300_000; // lines
const KEPT = 64_000_000; // characters of all lines together

/** The lines of a log as it grows: long lines are cut, old lines are let go, nothing is copied. */
export class Lines {
  lines: string[] = [];
  dropped = 0;
  shortened = 0; // lines that are longer than what is kept of them
  private size = 0;
  private open = ""; // the last line, which has no end yet
  private cut = 0; // characters of it that are not kept
  private decoder = new TextDecoder();

  /** Take the next bytes of the log. */
  push(bytes: Uint8Array): void {
    const text = this.decoder.decode(bytes, { stream: true });
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      if (end < 0) break;
      this.grow(text.slice(from, end));
      this.close();
      from = end + 1;
    }
    if (from < text.length) this.grow(text.slice(from));
    this.forget();
  }

  /** So many bytes of the present line were not sent. */
  skip(bytes: number): void {
    this.cut += bytes;
  }

  /** A line of our own between two attempts. */
  note(text: string): void {
    if (this.open) this.close();
    this.lines.push(text);
  }

  /** How many lines there are to show, with the one that has not ended. */
  get count(): number {
    return this.lines.length + (this.open ? 1 : 0);
  }

  at(index: number): string {
    return index < this.lines.length ? (this.lines[index] ?? "") : this.shown();
  }

  private grow(text: string): void {
    const room = LONGEST - this.open.length;
    this.open += text.slice(0, Math.max(0, room));
    this.cut += Math.max(0, text.length - Math.max(0, room));
  }

  /** Let the oldest lines go when there are too many. */
  private forget(): void {
    let extra = Math.max(0, this.lines.length - MOST);
    for (let index = 0; index < extra; index += 1) this.size -= this.lines[index]?.length ?? 0;
    while (this.size > KEPT) {
      this.size -= this.lines[extra]?.length ?? 0;
      extra += 1;
    }
    if (extra === 0) return;
    this.lines.splice(0, extra);
    this.dropped += extra;
  }

  private close(): void {
    const line = this.shown();
    this.lines.push(line);
    this.size += line.length;
    if (this.cut > 0) this.shortened += 1;
    this.open = "";
    this.cut = 0;
  }

  private shown(): string {
    const line = this.open.endsWith("\r") ? this.open.slice(0, -1) : this.open;
    // A progress bar overwrites its line; what it wrote last is what counts.
    const last = line.slice(line.lastIndexOf("\r") + 1);
    return this.cut > 0
      ? `${last} … ${formatWhole(this.cut)} more characters; download the log to see them`
      : last;
  }
}
