import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { follow } from "./stream";

const GATHER = 300; // many changes at once are one look

/** What has to be read again when a job changes; the event itself is only a hint. */
const TOUCHED = [
  ["search", "jobs"],
  ["queue"],
  ["provenance"],
  ["templates"],
  ["set-versions"],
  ["search", "sets"],
];

/** Keep what is shown of jobs up to date, by the server's events. */
export function useLiveJobs(project: string | null): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!project) return;
    const stop = new AbortController();
    const changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const look = () => {
      timer = null;
      for (const queryKey of TOUCHED) void queries.invalidateQueries({ queryKey });
      for (const id of changed) {
        void queries.invalidateQueries({ queryKey: ["job", id] });
        void queries.invalidateQueries({ queryKey: ["metadata", `job:${id}`] });
      }
      changed.clear();
    };
    let opened = 0;
    follow("/api/v1/events", stop.signal, (event) => {
      if (event.name === "job") changed.add((JSON.parse(event.data) as { id: string }).id);
      // Between two connections something may have happened; the first follows a fresh reading.
      else if (event.name !== "open" || opened++ === 0) return undefined;
      else void queries.invalidateQueries({ queryKey: ["job"] });
      timer ??= setTimeout(look, GATHER);
      return undefined;
    }).catch(() => undefined); // signed out: the page shows that by itself
    return () => {
      stop.abort();
      if (timer) clearTimeout(timer);
    };
  }, [project, queries]);
}
