export type Direction = "back" | "forward";

/** The graph around one set, `set:NAME:VERSION`. */
export function traceLink(id: string, direction: Direction, depth?: number): string {
  const query = new URLSearchParams({ from: id, direction });
  if (depth) query.set("depth", String(depth));
  return `/provenance?${query}`;
}

export function partsOf(id: string): { name: string; version: string } {
  const [, name = "", version = "latest"] = id.split(":");
  return { name, version };
}
