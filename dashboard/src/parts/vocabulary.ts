import { useMemo } from "react";
import { showValue } from "../values";

const COMMON = ["name", "create_time", "creator", "id", "tag"];
const KEYS = {
  set: [...COMMON, "version", "size", "file_count", "hash", "job.creator", "job.status"],
  file: [...COMMON, "version", "size", "hash", "content_type"],
  job: [
    ...COMMON.filter((key) => key !== "create_time"),
    ...["status", "submit_time", "start_time", "end_time", "runtime", "queue_time", "cost", "cpu"],
    ...["memory", "gpu", "peak_memory", "cpu_seconds", "exit_code", "command"],
    ...["input.name", "output.name"],
  ],
};
const KNOWN: Record<string, string[]> = {
  creator: ["me"],
  status: [
    ...["queued", "launching", "downloading", "running", "uploading"],
    ...["finished", "failed", "killed", "lost"],
  ],
  create_time: ["today", "yesterday", "-7d"],
  submit_time: ["today", "yesterday", "-7d"],
};

interface Entity {
  id: string;
  name?: string | null;
  creator?: string;
  meta?: Record<string, unknown>;
  tags?: string[];
}

/** Keys and values to offer in a query: built in, and what the loaded entities have. */
export function useVocabulary(kind: "set" | "file" | "job", entities: Entity[]) {
  return useMemo(() => {
    const seen = new Map<string, Set<string>>();
    const note = (key: string, value: unknown) => {
      const values = seen.get(key) ?? new Set();
      if (values.size < 50) values.add(showValue(value));
      seen.set(key, values);
    };
    for (const one of entities.slice(0, 500)) {
      for (const [key, value] of Object.entries(one.meta ?? {})) note(key, value);
      for (const tag of one.tags ?? []) note("tag", tag);
      for (const key of ["name", "creator"] as const) {
        if (one[key]) note(key, one[key]);
      }
    }
    const own = [...seen.keys()].filter((key) => !KEYS[kind].includes(key)).sort();
    return {
      keys: [...KEYS[kind], ...own],
      own,
      values: (key: string) => [...(KNOWN[key] ?? []), ...(seen.get(key) ?? [])],
    };
  }, [kind, entities]);
}
