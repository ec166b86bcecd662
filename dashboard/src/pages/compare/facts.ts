import type { Schemas } from "../../api/client";
import { formatCost, formatDuration, formatNumber, formatSize, formatTime } from "../../format";
import { showValue } from "../../values";

type JobDetail = Schemas["JobDetail"];

export interface Fact {
  key: string;
  values: unknown[]; // one for each job
  show: (value: unknown) => string;
}

const plain = (value: unknown) =>
  typeof value === "number" ? formatNumber(value) : value === undefined ? "–" : showValue(value);
const as =
  (format: (value: number | null) => string) =>
  (value: unknown): string =>
    format((value as number | null | undefined) ?? null);

/** All that can be said of jobs side by side. */
export function factsOf(jobs: JobDetail[]): Fact[] {
  const every = (key: string, pick: (job: JobDetail) => unknown, show = plain): Fact => ({
    key,
    values: jobs.map(pick),
    show,
  });
  const keysOf = (pick: (job: JobDetail) => object) =>
    [...new Set(jobs.flatMap((job) => Object.keys(pick(job))))].sort();
  return [
    every("status", (job) => job.status),
    every("command", (job) => job.request.command),
    ...keysOf((job) => job.request.args).map((key) => every(`args.${key}`, (job) => job.request.args[key])),
    ...keysOf((job) => job.meta).filter((key) => !key.startsWith("args.")).map((key) => every(key, (job) => job.meta[key])),
    every("runtime", (job) => job.runtime, as(formatDuration)),
    every("queue_time", (job) => job.queue_time, as(formatDuration)),
    every("cost", (job) => job.cost, as(formatCost)),
    every("cpu", (job) => job.cpu),
    every("memory", (job) => job.memory, as(formatSize)),
    every("peak_memory", (job) => job.peak_memory, as(formatSize)),
    every("cpu_seconds", (job) => job.cpu_seconds, as(formatDuration)),
    every("exit_code", (job) => job.exit_code),
    every("input", (job) => job.inputs.join(", ")),
    every("code", (job) => job.code ?? undefined),
    every("output", (job) => job.output ?? undefined),
    every("environment", (job) => job.environment_digest.slice(0, 12)),
    every("tags", (job) => job.tags.join(", ")),
    every("creator", (job) => job.creator),
    every("submit_time", (job) => job.submit_time, (value) => formatTime(String(value))),
  ];
}

export function differs(fact: Fact): boolean {
  return new Set(fact.values.map((value) => JSON.stringify(value ?? null))).size > 1;
}

/** Facts that can be an axis: numbers, and words that differ. */
export function axesOf(facts: Fact[]): Fact[] {
  return facts.filter(
    (fact) =>
      fact.key !== "submit_time" &&
      fact.values.filter((value) => typeof value === "number").length >= 2,
  );
}
