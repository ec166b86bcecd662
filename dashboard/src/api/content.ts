import { api, ApiError, errorOf, got } from "./client";

/** Where a blob lies: an object's URL, and the bytes of it that are the blob. */
export interface Place {
  url: string;
  headers: Record<string, string>;
  start: number;
  size: number;
  whole: boolean; // the blob is the whole object
}

export async function locate(hash: string): Promise<Place> {
  const places = await got(api.POST("/api/v1/blobs/locate", { body: { hashes: [hash] } }));
  const blob = places.blobs[0];
  const object = places.objects.find((one) => one.id === blob?.object);
  if (!blob || !object) throw new ApiError(404, "object_not_found", "The content is gone.");
  return {
    url: object.get.url,
    headers: object.get.headers,
    start: blob.start,
    size: blob.size,
    whole: blob.start === 0 && blob.size === object.size,
  };
}

/** Bytes `from` up to `to` of a blob, straight from the store. */
export async function readRange(place: Place, from: number, to: number): Promise<ArrayBuffer> {
  const end = Math.min(to, place.size);
  if (end <= from) return new ArrayBuffer(0);
  const range = `bytes=${place.start + from}-${place.start + end - 1}`;
  const answer = await fetch(place.url, { headers: { ...place.headers, Range: range } });
  if (!answer.ok) throw errorOf(answer.status, await answer.json().catch(() => null));
  const bytes = await answer.arrayBuffer();
  // A store that knows no ranges sends all.
  return answer.status === 206 ? bytes : bytes.slice(place.start + from, place.start + end);
}

/** Save a blob on the user's disk, under this name. */
export async function download(hash: string, name: string): Promise<void> {
  const place = await locate(hash);
  const link = document.createElement("a");
  link.download = name;
  if (place.whole && place.url.startsWith("/")) {
    link.href = place.url;
    link.click();
    return;
  }
  const url = URL.createObjectURL(new Blob([await readRange(place, 0, place.size)]));
  link.href = url;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
