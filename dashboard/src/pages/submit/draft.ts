import type { Schemas } from "../../api/client";
import { parseValue, writeValue } from "../../values";

/** A job as the form holds it: texts that a person edits. */
export interface JobDraft {
  command: string;
  name: string;
  input: string[];
  code: string;
  args: string;
  env: string;
  output: string;
  outputPath: string;
  cpu: number;
  memory: string;
  gpu: number;
  timeout: string;
  priority: Schemas["Priority"];
  cache: boolean;
  tags: string[];
  description: string;
  requirements: string;
  kept?: Schemas["JobRequest"]; // what the form does not show stays as it was
}

export const EMPTY: JobDraft = {
  command: "",
  name: "",
  input: [],
  code: "",
  args: "",
  env: "",
  output: "",
  outputPath: "out/",
  cpu: 1,
  memory: "1GiB",
  gpu: 0,
  timeout: "",
  priority: "batch",
  cache: false,
  tags: [],
  description: "",
  requirements: "",
};

export function draftOf(request: Schemas["JobRequest"]): JobDraft {
  return {
    command: request.command,
    name: request.name ?? "",
    input: request.input,
    code: request.code ?? "",
    args: pairs(request.args),
    env: Object.entries(request.env).map(([key, value]) => `${key}=${value}`).join("\n"),
    output: request.output?.name ?? "",
    outputPath: request.output?.path ?? "out/",
    cpu: request.resources.cpu,
    memory: memoryText(request.resources.memory),
    gpu: request.resources.gpu,
    timeout: request.timeout ? `${request.timeout}s` : "",
    priority: request.priority,
    cache: request.cache,
    tags: request.tags,
    description: request.description ?? "",
    requirements: request.environment.requirements ?? "",
    kept: request,
  };
}

/** What the form says, as the API takes it; throws an error that names the field. */
export function requestOf(job: JobDraft): Schemas["JobRequest"] {
  const args: Record<string, string | number | boolean> = {};
  for (const [key, value] of lines(job.args, "Arguments")) {
    const parsed = parseValue(value);
    args[key] = typeof parsed === "object" ? value : parsed;
  }
  return {
    command: job.command.trim(),
    name: job.name.trim() || null,
    input: job.input,
    code: job.code.trim() || null,
    args,
    environment: environmentOf(job),
    output: job.output.trim()
      ? { to: null, ...job.kept?.output, name: job.output.trim(), path: job.outputPath.trim() || "out/" }
      : null,
    resources: { cpu: job.cpu, memory: memoryOf(job.memory), gpu: job.gpu },
    timeout: job.timeout.trim() ? secondsOf(job.timeout.trim()) : null,
    priority: job.priority,
    cache: job.cache,
    retries: job.kept?.retries ?? 0,
    env: Object.fromEntries(lines(job.env, "Environment variables")),
    description: job.description.trim() || null,
    tags: job.tags,
    meta: job.kept?.meta ?? {},
  };
}

function environmentOf(job: JobDraft): Schemas["Environment"] {
  const requirements = job.requirements.trim() ? job.requirements : null;
  const { python = null, image = null } = job.kept?.environment ?? {};
  return requirements ? { requirements, python: null, image: null } : { requirements, python, image };
}

function pairs(values: Record<string, unknown>): string {
  return Object.entries(values).map(([key, value]) => `${key}=${writeValue(value)}`).join("\n");
}

function lines(text: string, field: string): [string, string][] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`${field}: “${line}” is no assignment; write name=value.`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
}

const UNITS: Record<string, number> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

function memoryOf(text: string): number {
  const found = /^([\d.]+)\s*([kmgt]?i?b)$/i.exec(text.trim());
  const unit = UNITS[(found?.[2] ?? "").toLowerCase()];
  const amount = Number(found?.[1]);
  if (!unit || !Number.isFinite(amount)) throw new Error(`Memory: “${text}” is no size; write 2GB or 512MiB.`);
  return Math.round(amount * unit);
}

function memoryText(bytes: number): string {
  for (const [unit, size] of [["GiB", 2 ** 30], ["GB", 1e9], ["MiB", 2 ** 20], ["MB", 1e6]] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}B`;
}

const SECONDS: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600, d: 86400 };

export function secondsOf(text: string): number {
  const found = /^([\d.]+)\s*(s|m|min|h|d)?$/.exec(text);
  const amount = Number(found?.[1]);
  if (!found || !Number.isFinite(amount)) throw new Error(`“${text}” is no duration; write 90s, 15m or 2h.`);
  return amount * (SECONDS[found[2] ?? "s"] ?? 1);
}
