import { ActionIcon, Badge, Group, Skeleton, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { api, got, type Schemas } from "../api/client";
import { formatSize, formatTime } from "../format";
import { isTime, parseValue, showValue, writeValue } from "../values";
import { Problem } from "./Problem";

type Entity = Schemas["EntityMetadata"];

export function useMetadata(entity: string, enabled = true) {
  return useQuery({
    queryKey: ["metadata", entity],
    queryFn: () => got(api.GET("/api/v1/metadata", { params: { query: { entity } } })),
    enabled,
  });
}

/** All that is known of an entity; keys and tags of users can be changed in place. */
export function MetadataEditor({ entity, hide }: { entity: string; hide?: ReadonlySet<string> }) {
  const { data, error } = useMetadata(entity);
  const queries = useQueryClient();
  const keep = (found: Entity) => queries.setQueryData(["metadata", entity], found);
  const set = useMutation({
    mutationFn: (change: { meta?: Record<string, unknown>; tags?: string[] }) =>
      got(api.POST("/api/v1/metadata", { body: { entities: [entity], meta: {}, tags: [], ...change } })),
    onSuccess: ({ items }) => items[0] && keep(items[0]),
  });
  const remove = useMutation({
    mutationFn: (gone: { keys?: string[]; tags?: string[] }) =>
      got(api.POST("/api/v1/metadata/remove", { body: { entity, keys: [], tags: [], ...gone } })),
    onSuccess: keep,
  });
  if (error) return <Problem error={error} />;
  if (!data) return <Skeleton h={120} />;
  return (
    <Stack gap="sm">
      <Tags
        tags={data.tags}
        add={(tag) => set.mutate({ tags: [tag] })}
        remove={(tag) => remove.mutate({ tags: [tag] })}
      />
      <Keys
        meta={ownKeys(data)}
        set={(key, value) => set.mutate({ meta: { [key]: value } })}
        remove={(key) => remove.mutate({ keys: [key] })}
      />
      <Problem error={set.error ?? remove.error} />
      <BuiltIn values={data.built_in} hide={hide} />
    </Stack>
  );
}

/** A job's arguments are found among its keys, but belong to the platform. */
function ownKeys({ kind, meta }: Entity): Record<string, unknown> {
  if (kind !== "job") return meta;
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith("args.")));
}

function Tags(props: { tags: string[]; add: (tag: string) => void; remove: (tag: string) => void }) {
  const [text, setText] = useState("");
  function submit(event: FormEvent) {
    event.preventDefault();
    if (text.trim()) props.add(text.trim());
    setText("");
  }
  return (
    <Group gap={6} align="center">
      {props.tags.map((tag) => (
        <Badge
          key={tag}
          variant="light"
          tt="none"
          maw="100%"
          rightSection={
            <ActionIcon
              size={16}
              variant="transparent"
              c="inherit"
              aria-label={`Remove tag ${tag}`}
              onClick={() => props.remove(tag)}
            >
              <X size={12} />
            </ActionIcon>
          }
        >
          {tag}
        </Badge>
      ))}
      <form onSubmit={submit}>
        <TextInput
          size="xs"
          w={110}
          placeholder="Add a tag"
          aria-label="Add a tag"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </form>
    </Group>
  );
}

interface KeysProps {
  meta: Record<string, unknown>;
  set: (key: string, value: unknown) => void;
  remove: (key: string) => void;
}

function Keys({ meta, set, remove }: KeysProps) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  function submit(event: FormEvent) {
    event.preventDefault();
    if (!key.trim() || !value) return;
    set(key.trim(), parseValue(value));
    setKey("");
    setValue("");
  }
  return (
    <Stack gap={4}>
      {Object.entries(meta)
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([name, held]) => (
          <Group key={name} gap={6} wrap="nowrap">
            <Text size="sm" w="38%" className="name">
              {name}
            </Text>
            <EditableValue name={name} held={held} set={(next) => set(name, next)} />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${name}`}
              onClick={() => remove(name)}
            >
              <X size={14} />
            </ActionIcon>
          </Group>
        ))}
      <form onSubmit={submit}>
        <Group gap={6} wrap="nowrap">
          <TextInput
            size="xs"
            w="38%"
            placeholder="New key"
            aria-label="New key"
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <TextInput
            size="xs"
            flex={1}
            placeholder="Value"
            aria-label="Value of the new key"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <ActionIcon type="submit" variant="light" aria-label="Add the key" disabled={!key || !value}>
            <Plus size={14} />
          </ActionIcon>
        </Group>
      </form>
    </Stack>
  );
}

function EditableValue(props: { name: string; held: unknown; set: (value: unknown) => void }) {
  const written = writeValue(props.held);
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const commit = () => {
    if (text !== written && text !== "") props.set(parseValue(text));
    else setText(written);
  };
  return (
    <TextInput
      size="xs"
      flex={1}
      aria-label={`Value of ${props.name}`}
      value={text}
      classNames={{ input: "ghost mono" }}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") setText(written);
      }}
    />
  );
}

function BuiltIn({ values, hide }: { values: Record<string, unknown>; hide?: ReadonlySet<string> }) {
  return (
    <Table withRowBorders={false} verticalSpacing={2} horizontalSpacing={0} fz="xs" layout="fixed">
      <Table.Tbody>
        {Object.entries(values)
          .filter(([key, value]) => value !== null && value !== undefined && !hide?.has(key))
          .map(([key, value]) => (
            <Table.Tr key={key}>
              <Table.Th w="38%" fw={500} c="dimmed">
                {key}
              </Table.Th>
              <Table.Td className="name">{showBuiltIn(key, value)}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

function showBuiltIn(key: string, value: unknown): string {
  if (isTime(value)) return formatTime(value.$time);
  if (typeof value === "number" && (key === "size" || key === "memory" || key === "peak_memory")) {
    return formatSize(value);
  }
  return showValue(value);
}
