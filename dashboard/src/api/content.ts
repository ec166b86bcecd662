import { api, ApiError, errorOf, got, Unreachable } from "./client";

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

/** One signed request, to our server or to the object store that it uses. */
export async function askStore(url: string, request: RequestInit): Promise<Response> {
  const answer = await fetch(url, request).catch(() => null);
  if (answer?.ok) return answer;
  if (answer) throw errorOf(answer.status, await answer.json().catch(() => null));
  if (url.startsWith("/")) throw new Unreachable();
  throw new Error(
    `The object store at ${new URL(url).host} does not answer this page: it is away, or its CORS` +
      " rules do not allow the page. On the server, `acai doctor` says what to do.",
  );
}

/** Bytes `from` up to `to` of a blob, straight from the store. */
export async function readRange(place: Place, from: number, to: number): Promise<ArrayBuffer> {
  return (await readBlob(place, from, to)).arrayBuffer();
}

/** The same as a blob, which the browser keeps on disk if it is large. */
async function readBlob(place: Place, from: number, to: number): Promise<Blob> {
  const end = Math.min(to, place.size);
  if (end <= from) return new Blob();
  const range = `bytes=${place.start + from}-${place.start + end - 1}`;
  const answer = await askStore(place.url, { headers: { ...place.headers, Range: range } });
  const bytes = await answer.blob();
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
  const url = URL.createObjectURL(await readBlob(place, 0, place.size));
  link.href = url;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
