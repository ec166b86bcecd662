import { Badge, Button, Group, Skeleton, Stack, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { formatSize, formatWhole } from "../../format";
import { Empty } from "../../parts/Empty";
import { type Column, Grid } from "../../parts/Grid";
import { Problem } from "../../parts/Problem";
import { QueryBox } from "../../parts/QueryBox";
import { useVocabulary } from "../../parts/vocabulary";
import { When } from "../../parts/When";
import { setLink } from "../data/links";
import { CreateSet } from "./CreateSet";

type Found = Schemas["FoundSet"] | Schemas["SetVersion"];

const COLUMNS: Column<Found>[] = [
  {
    id: "name",
    header: "Set",
    grow: true,
    cell: (one) => (
      <Link to={setLink(one.name, one.version)} className="entry">
        {one.name}:{one.version}
      </Link>
    ),
  },
  {
    id: "tags",
    header: "Tags",
    size: 170,
    cell: (one) => (
      <Group gap={4} wrap="nowrap">
        {("tags" in one ? one.tags : []).map((tag) => (
          <Badge key={tag} variant="light" size="sm" tt="none">
            {tag}
          </Badge>
        ))}
      </Group>
    ),
  },
  {
    id: "files",
    header: "Files",
    size: 90,
    right: true,
    cell: (row) => formatWhole(row.file_count),
  },
  {
    id: "size",
    header: "Size",
    size: 90,
    right: true,
    cell: (row) => formatSize(row.size),
  },
  {
    id: "time",
    header: "Made",
    size: 120,
    cell: (row) => <When time={row.create_time} />,
  },
  { id: "by", header: "By", size: 110, cell: (row) => row.creator },
];

export function Component() {
  const [search, setSearch] = useSearchParams();
  const q = search.get("q") ?? "";
  const [making, { open, close }] = useDisclosure(false);
  const specs = useMemo(() => [], []);
  const sets = usePaged<Found>(
    ["search", "sets", q],
    (cursor) => {
      const query = { cursor, limit: 200 };
      return q
        ? got(api.GET("/api/v1/search/sets", { params: { query: { ...query, q } } }))
        : got(api.GET("/api/v1/sets", { params: { query } }));
    },
    { keep: true },
  );
  const { keys, values } = useVocabulary("set", sets.items);
  const nothing = sets.isSuccess && sets.items.length === 0;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">
          Sets
        </Title>
        <Button leftSection={<Plus size={15} />} onClick={open}>
          Make a set
        </Button>
      </Group>
      <QueryBox
        label="Find sets"
        placeholder="model = BERT and precision > 0.5 order by create_time desc"
        value={q}
        onSubmit={(next) => setSearch(next ? { q: next } : {})}
        error={sets.error}
        kind="set"
        keys={keys}
        values={values}
      />
      {sets.isPending && <Skeleton h={300} />}
      {!q && <Problem error={sets.error} />}
      {nothing && q && <Empty title="No set matches">Change the query, or clear it.</Empty>}
      {nothing && !q && (
        <Empty title="No sets yet" command="acai set create mydata /data/">
          A set is a named, versioned list of files. Make one here, or from a terminal:
        </Empty>
      )}
      {sets.items.length > 0 && !sets.error && (
        <Grid
          label="Sets"
          rows={sets.items}
          columns={COLUMNS}
          rowKey={(one) => one.id}
          more={sets.more}
          loadingMore={sets.isFetchingNextPage}
        />
      )}
      {making && <CreateSet specs={specs} close={close} />}
    </Stack>
  );
}
