import { Badge, Loader } from "@mantine/core";
import type { Schemas } from "../../api/client";

export type JobState = Schemas["JobState"];

const COLORS: Record<string, string> = {
  queued: "gray",
  launching: "blue",
  downloading: "blue",
  running: "blue",
  uploading: "blue",
  finished: "green",
  failed: "red",
  killed: "orange",
  lost: "orange",
};
const ENDED = new Set(["finished", "failed", "killed", "lost"]);

export function hasEnded(status: string): boolean {
  return ENDED.has(status);
}

interface StatusProps {
  status: string;
  size?: string;
  past?: boolean; // it was in this state, and may not be any more
}

export function Status({ status, size = "md", past = false }: StatusProps) {
  const busy = !past && !hasEnded(status) && status !== "queued";
  return (
    <Badge
      variant="light"
      color={COLORS[status] ?? "gray"}
      size={size}
      tt="none"
      leftSection={busy ? <Loader size={9} color="blue" aria-hidden /> : undefined}
    >
      {status}
    </Badge>
  );
}
