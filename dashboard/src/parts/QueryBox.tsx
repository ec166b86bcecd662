import { Autocomplete, Stack, Text } from "@mantine/core";
import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client";
import { complete, placeIn } from "./completion";
import { type Kind, useCompletion } from "./vocabulary";

interface QueryBoxProps {
  label: string;
  placeholder: string;
  value: string;
  onSubmit: (query: string) => void;
  error: unknown;
  kind: Kind;
  keys: string[];
  values: (key: string) => string[];
}

/** A query with completion of keys and values; an error is shown where it is. */
export function QueryBox(props: QueryBoxProps) {
  const [text, setText] = useState(props.value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(props.value), [props.value]);
  const place = placeIn(text);
  const known = useCompletion(props.kind, place);
  const offered = complete(
    text,
    [...props.keys, ...known.keys],
    place.key === null ? [] : [...props.values(place.key), ...known.values],
  );
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
        comboboxProps={{ keepMounted: false }}
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
