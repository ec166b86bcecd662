import { Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Search } from "lucide-react";
import { useState } from "react";
import { api, got, type Schemas } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { formatSize } from "../../format";
import { type Column, Grid } from "../../parts/Grid";
import { Named } from "../../parts/Named";
import { Problem } from "../../parts/Problem";
import { dataLink } from "../data/links";

const COLUMNS: Column<Schemas["ResolvedFile"]>[] = [
  {
    id: "path",
    header: "Path",
    grow: true,
    cell: (file) => <Named name={file.path} to={dataLink(file.path, file.version)} />,
  },
  { id: "version", header: "Version", size: 92, right: true, cell: (row) => row.version },
  {
    id: "size",
    header: "Size",
    size: 90,
    right: true,
    cell: (row) => formatSize(row.size),
  },
];

export function SetFiles({ name, version }: { name: string; version: number }) {
  const [typed, setTyped] = useState("");
  const [prefix] = useDebouncedValue(typed.startsWith("/") ? typed : `/${typed}`, 250);
  const files = usePaged(
    ["set-files", name, version, prefix],
    (cursor) =>
      got(
        api.GET("/api/v1/sets/{name}/versions/{version}/files", {
          params: {
            path: { name, version: String(version) },
            query: { prefix, cursor, limit: 1000 },
          },
        }),
      ),
    { keep: true },
  );
  return (
    <Stack gap="sm">
      <TextInput
        aria-label="Paths that begin with"
        placeholder="Paths that begin with /…"
        leftSection={<Search size={15} aria-hidden />}
        maw={420}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Problem error={files.error} />
      {files.isPending && <Skeleton h={240} />}
      {files.isSuccess && files.items.length === 0 && <Text c="dimmed">No path begins so.</Text>}
      {files.items.length > 0 && (
        <Grid
          label="Files of the set"
          rows={files.items}
          columns={COLUMNS}
          rowKey={(file) => file.path}
          more={files.more}
          loadingMore={files.isFetchingNextPage}
          height="calc(100vh - 380px)"
        />
      )}
    </Stack>
  );
}
