import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { follow } from "../../api/stream";
import { Lines, MOST } from "./lines";

const TAGS = 1000; // at most so often are the curves read again, in milliseconds

export interface Log {
  lines: Lines;
  count: number; // changes when there is more to draw
  ended: boolean;
  error: Error | null;
}

/** A job's log as it comes; curves are read again when it holds a number to draw. */
export function useLog(job: string): Log {
  const queries = useQueryClient();
  const lines = useRef(new Lines());
  const [count, setCount] = useState(0);
  const [ended, setEnded] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    lines.current = new Lines();
    setEnded(false);
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const draw = () => {
      frame = 0;
      setCount(lines.current.count + lines.current.dropped);
    };
    const curves = () => {
      timer ??= setTimeout(() => {
        timer = null;
        void queries.invalidateQueries({ queryKey: ["series", job] });
        void queries.invalidateQueries({ queryKey: ["metadata", `job:${job}`] });
      }, TAGS);
    };
    follow(`/api/v1/jobs/${job}/logs?follow=1&tail=${MOST}`, stop.signal, (event) => {
      if (event.name === "end") {
        setEnded(true);
        curves();
        return "last";
      }
      if (event.name === "attempt") {
        const { attempt } = JSON.parse(event.data) as { attempt: number };
        if (attempt > 1) lines.current.note(`── attempt ${attempt} ──`);
        return undefined;
      }
      if (event.name !== "log") return undefined;
      const { data } = JSON.parse(event.data) as { data: string };
      const text = atob(data);
      if (text.includes("[ACAI_TAG_NUM]")) curves();
      lines.current.push(Uint8Array.from(text, (char) => char.charCodeAt(0)));
      frame ||= requestAnimationFrame(draw);
      return undefined;
    }).catch(setError);
    return () => {
      stop.abort();
      cancelAnimationFrame(frame);
      if (timer) clearTimeout(timer);
    };
  }, [job, queries]);
  return { lines: lines.current, count, ended, error };
}
