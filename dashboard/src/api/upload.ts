import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { api, got, type Schemas } from "./client";
import { askStore } from "./content";

export interface Dropped {
  file: File;
  path: string; // where it will lie in the lake
  sha256?: string; // if it is known already
}

export interface Progress {
  stage: "reading" | "sending" | "finishing";
  done: number;
  total: number;
}

interface Hashed extends Dropped {
  sha256: string;
}

const SLICE = 4 * 1024 * 1024;

/** Upload files as one session: all become visible together, or none does. */
export async function upload(
  dropped: Dropped[],
  report: (progress: Progress) => void,
): Promise<Schemas["Upload"]> {
  const total = dropped.reduce((sum, one) => sum + one.file.size, 0);
  let read = 0;
  const hashed: Hashed[] = [];
  for (const one of dropped) {
    const count = (bytes: number) => {
      read += bytes;
      report({ stage: "reading", done: read, total });
    };
    hashed.push({ ...one, sha256: one.sha256 ?? (await hashOf([one.file], count)) });
  }
  const session = await got(api.POST("/api/v1/uploads", { body: {} }));
  try {
    return await send(session.id, hashed, report);
  } catch (error) {
    await api.POST("/api/v1/uploads/{upload}/abort", {
      params: { path: { upload: session.id } },
    }).catch(() => undefined);
    throw error;
  }
}

async function send(
  id: string,
  hashed: Hashed[],
  report: (progress: Progress) => void,
): Promise<Schemas["Upload"]> {
  const path = { upload: id };
  const limits = await got(api.GET("/api/v1/transfer"));
  const missing = new Set<string>();
  for (let start = 0; start < hashed.length; start += limits.batch) {
    const files = hashed.slice(start, start + limits.batch).map((one) => ({
      path: one.path,
      size: one.file.size,
      sha256: one.sha256,
      content_type: one.file.type || null,
    }));
    const answer = await got(
      api.POST("/api/v1/uploads/{upload}/files", { params: { path }, body: { files } }),
    );
    for (const hash of answer.missing) missing.add(hash);
  }
  const wanted = [...new Map(hashed.map((one) => [one.sha256, one])).values()].filter((one) =>
    missing.has(one.sha256),
  );
  const total = wanted.reduce((sum, one) => sum + one.file.size, 0);
  let done = 0;
  for (const pack of packs(wanted, limits)) {
    await sendPack(id, pack, (bytes) => {
      done += bytes;
      report({ stage: "sending", done, total });
    });
  }
  report({ stage: "finishing", done: total, total });
  return got(
    api.POST("/api/v1/uploads/{upload}/commit", {
      params: { path },
      body: { file_count: hashed.length },
    }),
  );
}

/** Small files travel together; a large one is an object of its own. */
function packs(wanted: Hashed[], limits: { pack_below: number; pack_size: number }): Hashed[][] {
  const made: Hashed[][] = wanted.filter((one) => one.file.size >= limits.pack_below).map((one) => [one]);
  let pack: Hashed[] = [];
  let size = 0;
  for (const one of wanted.filter((each) => each.file.size < limits.pack_below)) {
    if (size + one.file.size > limits.pack_size && pack.length > 0) {
      made.push(pack);
      [pack, size] = [[], 0];
    }
    pack.push(one);
    size += one.file.size;
  }
  return pack.length > 0 ? [...made, pack] : made;
}

async function sendPack(id: string, pack: Hashed[], sent: (bytes: number) => void): Promise<void> {
  const path = { upload: id };
  let start = 0;
  const blobs = pack.map((one) => {
    const span = { sha256: one.sha256, size: one.file.size, start };
    start += one.file.size;
    return span;
  });
  const whole = new Blob(pack.map((one) => one.file));
  const digest = pack.length === 1 && pack[0] ? pack[0].sha256 : await hashOf([whole]);
  const { objects } = await got(
    api.POST("/api/v1/uploads/{upload}/objects", {
      params: { path },
      body: { objects: [{ size: whole.size, sha256: digest, blobs }], in_place: false },
    }),
  );
  const slot = objects[0];
  if (!slot) throw new Error("The server made no room for the file.");
  const parts = slot.put
    ? await sendWhole(slot.put, whole, sent)
    : await sendParts(id, slot.id, whole, slot.part_size ?? whole.size, sent);
  await got(
    api.POST("/api/v1/uploads/{upload}/complete", {
      params: { path },
      body: { objects: [{ id: slot.id, parts }] },
    }),
  );
}

type Sent = Schemas["SentPart"][];

async function sendWhole(
  call: Schemas["SignedCall"],
  whole: Blob,
  sent: (bytes: number) => void,
): Promise<Sent> {
  await store(call, whole);
  sent(whole.size);
  return [];
}

async function sendParts(
  id: string,
  object: number,
  whole: Blob,
  size: number,
  sent: (bytes: number) => void,
): Promise<Sent> {
  const done: Sent = [];
  for (let number = 1; (number - 1) * size < whole.size; number += 1) {
    const part = whole.slice((number - 1) * size, number * size);
    const digest = await hashOf([part]);
    const signed = await got(
      api.POST("/api/v1/uploads/{upload}/objects/{object_id}/parts", {
        params: { path: { upload: id, object_id: object } },
        body: { parts: [{ number, size: part.size, sha256: digest }] },
      }),
    );
    const call = signed.parts[0];
    if (!call) throw new Error("The server gave no place for a part of the file.");
    const etag = await store(call, part);
    done.push({ number, size: part.size, etag, sha256: digest });
    sent(part.size);
  }
  return done;
}

async function store(call: Schemas["SignedCall"], body: Blob): Promise<string> {
  const answer = await askStore(call.url, { method: call.method, headers: call.headers, body });
  return answer.headers.get("etag") ?? "";
}

/** Works where the browser's own hashing does not: in parts, and without a secure context. */
export async function hashOf(blobs: Blob[], step: (bytes: number) => void = () => {}): Promise<string> {
  const hash = sha256.create();
  for (const blob of blobs) {
    for (let start = 0; start < blob.size; start += SLICE) {
      const bytes = new Uint8Array(await blob.slice(start, start + SLICE).arrayBuffer());
      hash.update(bytes);
      step(bytes.length);
    }
  }
  return bytesToHex(hash.digest());
}
