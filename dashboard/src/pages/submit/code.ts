import { api, got, type Schemas } from "../../api/client";
import { type Dropped, hashOf, type Progress, upload } from "../../api/upload";
import { escapePath } from "../../format";
import { IGNORE_FILE, ignoring } from "./ignoring";

const MOST_FILES = 10_000;

/** Code from this computer, not yet in the lake; paths are below the working directory. */
export interface LocalCode {
  name: string; // of the directory, or of the first file
  path: string; // as a command line would name it
  files: Dropped[];
  size: number;
}

/** What was chosen: one directory's content without what is no code, or single files. */
export async function localCode(chosen: Dropped[]): Promise<LocalCode> {
  const top = chosen[0]?.path.split("/")[0] ?? "";
  const inOne = chosen.every((one) => one.path.startsWith(`${top}/`));
  const below = chosen.map((one) => ({ ...one, path: inOne ? one.path.slice(top.length + 1) : one.path }));
  const own = await below.find((one) => one.path === IGNORE_FILE)?.file.text();
  const skipped = ignoring((own ?? "").split("\n"));
  const files = below.filter((one) => !skipped(one.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  if (files.length === 0) throw new Error("There is no code in this: it is empty, or all of it is ignored.");
  if (files.length > MOST_FILES) {
    throw new Error(`These are more than 10,000 files; list what is no code in ${IGNORE_FILE}, and put data into a set.`);
  }
  const stem = top.includes(".") && !inOne ? top.slice(0, top.lastIndexOf(".")) : top;
  const path = inOne || files.length === 1 ? `./${top}` : ".";
  return { name: stem, path, files, size: files.reduce((sum, one) => sum + one.file.size, 0) };
}

/** A name for the set and the directory of this code, as the command line gives it. */
function codeName(jobName: string, code: LocalCode): string {
  const name = (jobName || code.name).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-._]+|[-._]+$/g, "");
  return name.slice(0, 100) || "code";
}

/** The reference of a set that holds this code, made unless its latest version does. */
export async function sendCode(
  code: LocalCode,
  jobName: string,
  report: (progress: Progress) => void,
): Promise<string> {
  const name = codeName(jobName, code);
  const directory = `/code/${name}/`;
  const wanted = new Map<string, Dropped & { sha256: string }>();
  let read = 0;
  for (const one of code.files) {
    const sha256 = await hashOf([one.file], (bytes) => {
      read += bytes;
      report({ stage: "reading", done: read, total: code.size });
    });
    wanted.set(directory + one.path, { file: one.file, path: directory + one.path, sha256 });
  }
  const held = await latestOf(`${name}-code`);
  const kept = (held?.files ?? []).filter((file) => wanted.get(file.path)?.sha256 === file.hash);
  if (held && kept.length === wanted.size && held.files.length === wanted.size) {
    return `${directory}@${name}-code:${held.version}`;
  }
  const unchanged = new Set(kept.map((file) => file.path));
  const changed = [...wanted.values()].filter((one) => !unchanged.has(one.path));
  const sent = changed.length > 0 ? await filesOf(await upload(changed, report)) : [];
  const specs = [...kept, ...sent].map((file) => `${escapePath(file.path)}:${file.version}`);
  const made = await got(api.POST("/api/v1/sets", { body: { name: `${name}-code`, specs } }));
  return `${directory}@${made.name}:${made.version}`;
}

interface Held {
  path: string;
  version: number;
  hash: string;
}

/** The latest version of a set, if there is one: searched for, since its absence is no error. */
async function latestOf(name: string): Promise<{ version: number; files: Held[] } | null> {
  const q = `name = '${name}' order by version desc`;
  const found = await got(api.GET("/api/v1/search/sets", { params: { query: { q, limit: 1 } } }));
  const version = found.items[0]?.version;
  if (version === undefined) return null;
  const path = { name, version: String(version) };
  const files = await everyPage((cursor) =>
    got(
      api.GET("/api/v1/sets/{name}/versions/{version}/files", {
        params: { path, query: { cursor, limit: 1000 } },
      }),
    ),
  );
  return { version, files };
}

function filesOf(session: Schemas["Upload"]): Promise<Held[]> {
  const path = { upload: session.id };
  return everyPage((cursor) =>
    got(
      api.GET("/api/v1/uploads/{upload}/files", { params: { path, query: { cursor, limit: 1000 } } }),
    ),
  );
}

async function everyPage<T>(
  read: (cursor: string | undefined) => Promise<{ items: T[]; next: string | null }>,
): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    found.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor);
  return found;
}
