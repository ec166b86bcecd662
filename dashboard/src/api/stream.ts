import { ApiError, errorOf, ownHeaders } from "./client";

interface ServerEvent {
  name: string;
  data: string;
  id: string | null;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

/**
 * Server-sent events, until `signal` aborts or `onEvent` returns "last". A broken connection is
 * taken up again where it ended, which an event of our own, `open`, tells once the server
 * watches; an answer that says no is thrown.
 */
export async function follow(
  url: string,
  signal: AbortSignal,
  onEvent: (event: ServerEvent) => "last" | undefined,
): Promise<void> {
  let last: string | null = null;
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    await untilVisible(signal);
    const shown = new AbortController();
    const stop = stopWhenHidden(shown);
    try {
      const headers: Record<string, string> = { ...ownHeaders("GET"), Accept: "text/event-stream" };
      if (last !== null) headers["Last-Event-ID"] = last;
      const answer = await fetch(url, { headers, signal: AbortSignal.any([signal, shown.signal]), cache: "no-store" });
      if (!answer.ok || !answer.body) {
        throw errorOf(answer.status, await answer.json().catch(() => null));
      }
      wait = FIRST_WAIT;
      for await (const event of events(answer.body)) {
        if (event.id !== null) last = event.id;
        if (onEvent(event) === "last") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 500) throw error;
      if (shown.signal.aborted) continue;
    } finally {
      stop();
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** A page that nobody sees needs no connection, of which a browser has six to share. */
function stopWhenHidden(running: AbortController): () => void {
  const look = () => {
    if (document.hidden) running.abort();
  };
  document.addEventListener("visibilitychange", look);
  return () => document.removeEventListener("visibilitychange", look);
}

function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (!document.hidden || signal.aborted) resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let pieces: string[] = [];
  let opened = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (!opened) yield { name: "open", data: "", id: null };
      opened = true;
      // Joined only when an event ends: a long one arrives in many pieces.
      pieces.push(value);
      if (!value.includes("\n")) continue;
      const text = pieces.join("");
      const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
      pieces = [blocks.pop() ?? ""];
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function parse(block: string): ServerEvent | null {
  let name = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
  return data.length > 0 ? { name, data: data.join("\n"), id } : null;
}
