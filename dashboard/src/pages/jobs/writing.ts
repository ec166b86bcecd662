import type { Schemas } from "../../api/client";
import { shellWord } from "../../format";
import { writeValue } from "../../values";

type Request = Schemas["JobRequest"];

/** A request as `acai run` takes it. */
export function asCommandLine(request: Request): string {
  const words = ["acai run"];
  const option = (name: string, value: string | number | null | undefined) => {
    if (value !== null && value !== undefined && value !== "") words.push(`--${name} ${shellWord(String(value))}`);
  };
  option("name", request.name);
  for (const one of request.input) option("input", one);
  option("code", request.code);
  if (request.output) {
    const { name, path } = request.output;
    option("output", path === "out/" ? name : `${name}=${path}`);
  }
  option("cpu", request.resources.cpu);
  option("memory", `${request.resources.memory}B`);
  if (request.resources.gpu) option("gpu", request.resources.gpu);
  for (const [key, value] of Object.entries(request.args)) option("arg", `${key}=${writeValue(value)}`);
  for (const [key, value] of Object.entries(request.env)) option("env", `${key}=${value}`);
  if (request.timeout) option("timeout", `${request.timeout}s`);
  if (request.priority !== "batch") option("priority", request.priority);
  if (request.cache) words.push("--cache");
  if (request.retries) option("retries", request.retries);
  for (const tag of request.tags) option("tag", tag);
  for (const [key, value] of Object.entries(request.meta)) option("meta", `${key}=${writeValue(value)}`);
  option("description", request.description);
  option("python", request.environment.python);
  option("image", request.environment.image);
  words.push(`-- ${shellWord(request.command)}`);
  return words.join(" \\\n  ");
}

/** A request as a job file. */
export function asYaml(request: Request): string {
  const lines: string[] = [];
  const scalar = (key: string, value: unknown, depth = 0) => {
    if (value === null || value === undefined || value === "") return;
    lines.push(`${"  ".repeat(depth)}${key}: ${yamlScalar(value)}`);
  };
  const map = (key: string, values: Record<string, unknown>) => {
    const held = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
    if (held.length === 0) return;
    lines.push(`${key}:`);
    for (const [name, value] of held) scalar(name, value, 1);
  };
  const list = (key: string, values: string[]) => {
    if (values.length > 0) lines.push(`${key}: [${values.map(yamlScalar).join(", ")}]`);
  };
  scalar("name", request.name);
  if (request.input.length === 1) scalar("input", request.input[0]);
  else list("input", request.input);
  scalar("code", request.code);
  scalar("command", request.command);
  map("args", request.args);
  map("environment", { python: request.environment.python, image: request.environment.image });
  if (request.output) map("output", { ...request.output });
  map("resources", {
    cpu: request.resources.cpu,
    memory: `${request.resources.memory}B`,
    gpu: request.resources.gpu,
  });
  if (request.timeout) scalar("timeout", `${request.timeout}s`);
  if (request.priority !== "batch") scalar("priority", request.priority);
  if (request.cache) scalar("cache", true);
  if (request.retries) scalar("retries", request.retries);
  map("env", request.env);
  scalar("description", request.description);
  list("tags", request.tags);
  map("meta", Object.fromEntries(Object.entries(request.meta).map(([k, v]) => [k, plainMeta(v)])));
  return `${lines.join("\n")}\n`;
}

function plainMeta(value: unknown): unknown {
  return typeof value === "object" && value !== null && "$time" in value
    ? (value as { $time: string }).$time
    : value;
}

/** JSON's strings are YAML's too; a plain word needs no quotes. */
function yamlScalar(value: unknown): string {
  if (typeof value !== "string") return String(value);
  const plain = /^[A-Za-z_./][\w./ @{}=+:-]*$/.test(value) && !/:\s|\s$|:$/.test(value);
  return plain && !/^(true|false|null|yes|no|on|off)$/i.test(value) ? value : JSON.stringify(value);
}
