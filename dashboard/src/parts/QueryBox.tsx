import { Autocomplete, Stack, Text } from "@mantine/core";
import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client";

interface QueryBoxProps {
  label: string;
  placeholder: string;
  value: string;
  onSubmit: (query: string) => void;
  error: unknown;
  keys: string[];
  values: (key: string) => string[];
}

const WORDS = ["and", "or", "not", "has", "in", "between", "order by", "limit", "max", "min", "tag ="];

/** A query with completion of keys and values; an error is shown where it is. */
export function QueryBox(props: QueryBoxProps) {
  const [text, setText] = useState(props.value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(props.value), [props.value]);
  const offered = complete(text, props.keys, props.values);
  return (
    <Stack gap={4} flex={1} miw={220}>
      <Autocomplete
        ref={input}
        aria-label={props.label}
        placeholder={props.placeholder}
        leftSection={<Search size={15} aria-hidden />}
        value={text}
        data={offered}
        filter={({ options }) => options}
        maxDropdownHeight={260}
        spellCheck={false}
        onChange={setText}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !input.current?.getAttribute("aria-activedescendant")) {
            props.onSubmit(text.trim());
          }
        }}
        error={Boolean(props.error)}
        classNames={{ input: "mono" }}
        clearable
        clearButtonProps={{ "aria-label": "Clear the query" }}
        onClear={() => props.onSubmit("")}
      />
      <QueryError error={props.error} />
    </Stack>
  );
}

export function QueryError({ error }: { error: unknown }) {
  if (!error) return null;
  const { query, position } = (error instanceof ApiError ? error.detail : {}) as {
    query?: string;
    position?: number;
  };
  return (
    <div role="alert">
      {query !== undefined && position !== undefined && (
        <Text size="sm" className="caret">
          {query.slice(0, position)}
          <mark>{query.slice(position, position + 1) || " "}</mark>
          {query.slice(position + 1)}
        </Text>
      )}
      <Text size="sm" c="var(--mantine-color-error)" className="name">
        {(error as Error).message}
      </Text>
    </div>
  );
}

/** Whole texts to choose from, made of what was written so far and what may follow. */
export function complete(
  text: string,
  keys: string[],
  values: (key: string) => string[],
): string[] {
  const last = /(?:^|[\s(])([A-Za-z_][\w.-]*)\s*(=|!=|~|<=?|>=?|in \()\s*('?)([^'\s]*)$/.exec(text);
  if (last) {
    const [, key = "", , quote = "", begun = ""] = last;
    const head = text.slice(0, text.length - begun.length - quote.length);
    return [...new Set(values(key))]
      .filter((value) => value.toLowerCase().startsWith(begun.toLowerCase()) && value !== begun)
      .slice(0, 20)
      .map((value) => `${head}${quoted(value)} `);
  }
  const begun = /([A-Za-z_][\w.-]*)?$/.exec(text)?.[0] ?? "";
  const head = text.slice(0, text.length - begun.length);
  if (!begun && text.trim() && !/\b(and|or|not|has|by|max|min)\s*$/i.test(text)) {
    return WORDS.slice(0, 2).concat("order by").map((word) => `${text.trimEnd()} ${word} `);
  }
  const words = head.trim() ? WORDS : ["not", "has", "max", "min", "tag =", "order by"];
  return [...new Set([...keys, ...words])]
    .filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()) && word !== begun)
    .slice(0, 30)
    .map((word) => `${head}${word} `);
}

function quoted(value: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(value) || /^-?[\d.]+$/.test(value)
    ? value
    : `'${value.replaceAll("'", "\\'")}'`;
}
