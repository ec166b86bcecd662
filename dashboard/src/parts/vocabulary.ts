import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, type QueryKey, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, got, type Schemas } from "../api/client";
import { showValue } from "../values";
import { type Place, writtenKey, writtenText } from "./completion";

export type Kind = Schemas["EntityKind"];
type Key = Schemas["MetadataKey"];

const RELATIONS: Record<Kind, string[]> = { file: [], set: ["job."], job: ["input.", "output."] };
const COMMON = ["name", "status", "creator", "submit_time", "create_time", "tag"];
const MOST = 200;
const LONGEST = 120; // characters of a value that is worth offering
const TIMES = ["today", "yesterday", "-7d"];
const STALE = 60_000; // a change of metadata is told

interface Entity {
  id: string;
  name?: string | null;
  creator?: string;
  meta?: Record<string, unknown>;
  tags?: string[];
}

/** The keys that a kind has, and values to offer at once: what the loaded entities have. */
export function useVocabulary(kind: Kind, entities: Entity[]) {
  const known = useKeys(kind, "", "");
  return useMemo(() => {
    const seen = new Map<string, Set<string>>();
    const note = (key: string, value: unknown) => {
      const values = seen.get(key) ?? new Set();
      if (values.size < 50) values.add(typeof value === "string" ? writtenText(value) : showValue(value));
      seen.set(key, values);
    };
    for (const one of entities.slice(0, 500)) {
      for (const [key, value] of Object.entries(one.meta ?? {})) note(key, value);
      for (const tag of one.tags ?? []) note("tag", tag);
      if (one.name) note("name", one.name);
    }
    const types = new Map(known.map((one) => [one.key, one.types]));
    return {
      keys: [...known].sort((a, b) => rank(a) - rank(b)).map(asWritten).concat(RELATIONS[kind]),
      own: known.filter((one) => !one.built_in).map((one) => one.key),
      args: known.filter((one) => one.key.startsWith("args.")).map((one) => one.key),
      values: (key: string) => [...constants(key, types.get(key) ?? []), ...(seen.get(key) ?? [])],
    };
  }, [kind, known, entities]);
}

function asWritten(one: Key): string {
  return one.built_in ? one.key : writtenKey(one.key);
}

/** What is asked for most comes first: common keys, those of users, arguments, all others. */
function rank({ key, built_in }: Key): number {
  if (COMMON.includes(key)) return COMMON.indexOf(key) - COMMON.length;
  if (!built_in) return 0;
  return key.startsWith("args.") ? 1 : 2;
}

function constants(key: string, types: string[]): string[] {
  if (key === "creator" || key.endsWith(".creator")) return ["me"];
  if (types.includes("boolean")) return ["true", "false"];
  return types.includes("time") ? TIMES : [];
}

/** What the server knows that could stand at a place in a query: keys, or values of a key. */
export function useCompletion(kind: Kind, { key, begun }: Place) {
  const relation = RELATIONS[kind].find((one) => begun.startsWith(one)) ?? "";
  const keys = useKeys(kind, relation, key === null ? begun : "");
  const values = useWords<string>(
    ["vocabulary", kind, "values", key],
    "",
    begun,
    (prefix) =>
      got(
        api.GET("/api/v1/metadata/values", {
          params: { query: { kind, key: key ?? "", prefix, limit: MOST } },
        }),
      ),
    key !== null,
  );
  return useMemo(
    () => ({
      keys: keys.map((one) => (relation ? one.key : asWritten(one))),
      values: values.filter((value) => value.length <= LONGEST).map(writtenText),
    }),
    [keys, values, relation],
  );
}

function useKeys(kind: Kind, relation: string, begun: string): Key[] {
  return useWords<Key>(["vocabulary", kind, "keys"], relation, begun, (prefix) =>
    got(api.GET("/api/v1/metadata/keys", { params: { query: { kind, prefix, limit: MOST } } })),
  );
}

const NONE: never[] = [];

/** All words after a prefix if they are few, else those that begin as it was begun. */
function useWords<T>(
  key: QueryKey,
  prefix: string,
  begun: string,
  read: (prefix: string) => Promise<{ items: T[]; next?: string | null }>,
  enabled = true,
): T[] {
  const asked = useDebouncedValue(begun, 150)[0];
  const few = useQuery({
    queryKey: [...key, prefix],
    queryFn: () => read(prefix),
    staleTime: STALE,
    enabled,
  });
  const many = enabled && Boolean(few.data?.next) && asked.length > prefix.length;
  const some = useQuery({
    queryKey: [...key, asked],
    queryFn: () => read(asked),
    staleTime: STALE,
    enabled: many,
    placeholderData: keepPreviousData,
  });
  return (many ? some.data : few.data)?.items ?? NONE;
}
