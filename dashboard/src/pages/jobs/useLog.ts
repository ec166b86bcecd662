import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../api/client";
import { follow } from "../../api/stream";
import { LONGEST, Lines, MOST } from "./lines";

export interface Log {
  lines: Lines;
  count: number; // changes when there is more to draw
  ended: boolean;
  error: Error | null;
}

/** A job's log as it comes. */
export function useLog(job: string): Log {
  const lines = useRef(new Lines());
  const [count, setCount] = useState(0);
  const [ended, setEnded] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    lines.current = new Lines();
    setEnded(false);
    let frame = 0;
    const draw = () => {
      frame = 0;
      setCount(lines.current.count + lines.current.dropped);
    };
    // More bytes than are shown: a character may have four.
    const url = `/api/v1/jobs/${job}/logs?follow=1&tail=${MOST}&longest=${2 * LONGEST}`;
    follow(url, stop.signal, (event) => {
      if (event.name === "end") {
        setEnded(true);
        return "last";
      }
      if (event.name === "attempt") {
        const { attempt } = JSON.parse(event.data) as { attempt: number };
        if (attempt > 1) lines.current.note(`── attempt ${attempt} ──`);
        return undefined;
      }
      if (event.name === "problem") {
        const { code, message } = JSON.parse(event.data) as { code: string; message: string };
        setError(new ApiError(404, code, message));
        setEnded(true);
        return "last";
      }
      if (event.name === "cut") lines.current.skip((JSON.parse(event.data) as { size: number }).size);
      if (event.name !== "log") return undefined;
      const { data } = JSON.parse(event.data) as { data: string };
      lines.current.push(bytesOf(data));
      frame ||= requestAnimationFrame(draw);
      return undefined;
    }).catch(setError);
    return () => {
      stop.abort();
      cancelAnimationFrame(frame);
    };
  }, [job]);
  return { lines: lines.current, count, ended, error };
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
