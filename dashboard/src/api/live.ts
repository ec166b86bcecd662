import { type Query, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { follow } from "./stream";

const GATHER = 300; // many changes at once are one look
const REST = 4; // times as long as a look took, so that reading again is a fifth of the time at most
const LONGEST_REST = 15_000;

/** Found by their hash: they never change. */
const FOR_GOOD = new Set(["place", "bytes", "text", "parquet"]);
const OF_FILES = new Set(["files", "file", "file-versions", "holding"]);
const OF_SETS = new Set(["sets", "set", "set-versions", "holding", "provenance"]);
const OF_JOBS = new Set(["queue", "templates", "costs"]);
const OF_ONE_JOB = new Set(["job", "usage", "series"]);

/** Whether what a query has read may be another now; a word names it as the API does. */
function concerns(word: string, [name, of]: QueryKey): boolean {
  const [what, which = "", part] = word.split("/");
  const query = String(name);
  const searches = (kind: string) => query === "search" && of === kind;
  switch (what) {
    case "files":
      return OF_FILES.has(query) || searches("files");
    case "sets":
      return OF_SETS.has(query) || searches("sets");
    case "metadata":
      return (
        searches(`${which}s`) ||
        (query === "metadata" && String(of).startsWith(`${which}:`)) ||
        (query === "vocabulary" && of === which) ||
        (query === "job" && which === "job")
      );
    case "jobs":
      if (part === "usage") return query === "usage" && of === which;
      if (searches("jobs") || (query === "metadata" && of === `job:${which}`)) return true;
      if (part === "series") return (query === "series" || query === "job") && of === which;
      return OF_JOBS.has(query) || (OF_ONE_JOB.has(query) && of === which);
    default:
      return !FOR_GOOD.has(query);
  }
}

/** Keep what is shown of the project up to date, by the server's events; they are only hints. */
export function useLiveProject(project: string | null): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!project) return;
    const stop = new AbortController();
    let words = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | null = null;
    let looking = false;
    let rested = 0; // when the next look may be
    const note = (...more: string[]) => {
      for (const word of more) words.add(word);
      if (words.size === 0 || looking || stop.signal.aborted) return;
      timer ??= setTimeout(() => void look(), Math.max(GATHER, rested - performance.now()));
    };
    const look = async () => {
      const heard = [...words];
      words = new Set();
      timer = null;
      looking = true;
      const began = performance.now();
      const predicate = ({ queryKey, state }: Query) => {
        const its = heard.filter((word) => concerns(word, queryKey));
        // What is being read may be of the time before: it is let through, and read once more.
        if (state.fetchStatus === "fetching") for (const word of its) words.add(word);
        return its.length > 0;
      };
      await queries.invalidateQueries({ predicate }, { cancelRefetch: false });
      looking = false;
      rested = performance.now() + Math.min(REST * (performance.now() - began), LONGEST_REST);
      note();
    };
    let opened = 0;
    follow("/api/v1/events", stop.signal, (event) => {
      if (event.name === "job") note(`jobs/${(JSON.parse(event.data) as { id: string }).id}`);
      else if (event.name === "changed") note(...(JSON.parse(event.data) as { again: string[] }).again);
      // Between two connections something may have happened; the first follows a fresh reading.
      else if (event.name === "open" && opened++ > 0) note("anything");
      return undefined;
    }).catch(() => undefined); // signed out: the page shows that by itself
    return () => {
      stop.abort();
      if (timer) clearTimeout(timer);
    };
  }, [project, queries]);
}
