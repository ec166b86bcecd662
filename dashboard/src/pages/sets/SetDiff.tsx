import { Badge, Group, Select, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, got, type Schemas } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { formatSize } from "../../format";
import { type Column, Grid } from "../../parts/Grid";
import { Problem } from "../../parts/Problem";

type Change = Schemas["FileChange"];

const COLORS = { added: "green", removed: "red", changed: "yellow" } as const;

const COLUMNS: Column<Change>[] = [
  {
    id: "change",
    header: "Change",
    size: 110,
    cell: (row) => (
      <Badge variant="light" color={COLORS[row.change]} tt="none">
        {row.change}
      </Badge>
    ),
  },
  { id: "path", header: "Path", grow: true, cell: (row) => row.path },
  {
    id: "versions",
    header: "Versions",
    size: 120,
    cell: (one) =>
      `${one.before?.version ?? "–"} → ${one.after?.version ?? "–"}`,
  },
  {
    id: "sizes",
    header: "Size",
    size: 170,
    cell: (one) =>
      `${formatSize(one.before?.size)} → ${formatSize(one.after?.size)}`,
  },
];

interface SetDiffProps {
  name: string;
  version: number;
  versions: Schemas["SetVersion"][];
}

/** On which files this version differs from another, by default from the one before it. */
export function SetDiff({ name, version, versions }: SetDiffProps) {
  const [other, setOther] = useState<string | null>(version > 1 ? String(version - 1) : null);
  const choices = versions.filter((one) => one.version !== version);
  const before = `${name}:${other}`;
  const after = `${name}:${version}`;
  const summary = useQuery({
    queryKey: ["diff-summary", before, after],
    queryFn: () =>
      got(api.GET("/api/v1/sets/diff/summary", { params: { query: { before, after } } })),
    enabled: other !== null,
  });
  const changes = usePaged(
    ["diff", before, after],
    (cursor) => got(api.GET("/api/v1/sets/diff", { params: { query: { before, after, cursor } } })),
    { enabled: other !== null },
  );
  if (choices.length === 0) return <Text c="dimmed">There is only this version.</Text>;
  return (
    <Stack gap="sm">
      <Group>
        <Select
          label="Compared with"
          w={180}
          value={other}
          data={choices.map((one) => ({
            value: String(one.version),
            label: `Version ${one.version}`,
          }))}
          onChange={setOther}
        />
        {summary.data && (
          <Group gap="xs" mt="lg">
            <Badge color="green" variant="light" tt="none">{`${summary.data.added} added`}</Badge>
            <Badge color="red" variant="light" tt="none">{`${summary.data.removed} removed`}</Badge>
            <Badge color="yellow" variant="light" tt="none">{`${summary.data.changed} changed`}</Badge>
          </Group>
        )}
      </Group>
      <Problem error={changes.error} />
      {other !== null && changes.isPending && <Skeleton h={200} />}
      {changes.isSuccess && changes.items.length === 0 && (
        <Text c="dimmed">Both versions hold the same files.</Text>
      )}
      {changes.items.length > 0 && (
        <Grid
          label="Changes"
          rows={changes.items}
          columns={COLUMNS}
          rowKey={(one) => one.path}
          more={changes.more}
          height="calc(100vh - 420px)"
        />
      )}
    </Stack>
  );
}
