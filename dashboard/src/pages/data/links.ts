export function dataLink(path: string, version?: number | null): string {
  const query = new URLSearchParams({ path });
  if (version) query.set("version", String(version));
  return `/data?${query}`;
}

export function setLink(name: string, version?: number | string | null, tab?: string): string {
  const query = new URLSearchParams();
  if (version && version !== "latest") query.set("version", String(version));
  if (tab) query.set("tab", tab);
  const text = query.toString();
  return `/sets/${encodeURIComponent(name)}${text ? `?${text}` : ""}`;
}

/** `NAME:VERSION` as a link. */
export function referenceLink(reference: string): string {
  const [name = "", version] = reference.split(":");
  return setLink(name, version);
}
