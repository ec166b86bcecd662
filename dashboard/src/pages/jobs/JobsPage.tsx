import { Button, Checkbox, Group, Popover, Skeleton, Stack, Text, Title, VisuallyHidden } from "@mantine/core";
import { Columns3, GitCompare, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { api, got } from "../../api/client";
import { usePaged } from "../../api/hooks";
import { formatCount } from "../../format";
import { CopyIcon } from "../../parts/CopyCommand";
import { Empty } from "../../parts/Empty";
import { type Column, Grid } from "../../parts/Grid";
import { Problem } from "../../parts/Problem";
import { QueryBox } from "../../parts/QueryBox";
import { useVocabulary } from "../../parts/vocabulary";
import { BUILT_IN, columnsFor, DEFAULT, type FoundJob, headerOf } from "./columns";
import { QueueLine } from "./QueueLine";

/** The view stands whole in the address: query, columns and order can be sent to a colleague. */
function useView() {
  const [search, setSearch] = useSearchParams();
  const q = search.get("q") ?? "";
  const chosen = search.get("columns");
  const columns = useMemo(() => (chosen === null ? DEFAULT : chosen.split(",").filter(Boolean)), [chosen]);
  const sort = search.get("sort");
  const set = (next: Record<string, string | null>) =>
    setSearch((before) => {
      const kept = new URLSearchParams(before);
      for (const [key, value] of Object.entries(next)) {
        if (value) kept.set(key, value);
        else kept.delete(key);
      }
      return kept;
    });
  return { q, columns, sort, set };
}

function ordered(q: string, sort: string | null): string {
  if (!sort || /\border\s+by\b/i.test(q)) return q;
  const key = sort.replace(/^-/, "");
  const limit = /\blimit\s+\d+\s*$/i.exec(q);
  const conditions = limit ? q.slice(0, limit.index) : q;
  return `${conditions} order by ${key} ${sort.startsWith("-") ? "desc" : "asc"} ${limit?.[0] ?? ""}`.trim();
}

export function Component() {
  const view = useView();
  const go = useNavigate();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const query = ordered(view.q, view.sort);
  const jobs = usePaged<FoundJob>(
    ["search", "jobs", query],
    (cursor) =>
      got(api.GET("/api/v1/search/jobs", { params: { query: { q: query, cursor, limit: 100 } } })),
    { keep: true },
  );
  const { keys, own, args, values } = useVocabulary("job", jobs.items);
  const columns = useMemo(
    () => [pickColumn(picked, setPicked), ...columnsFor(view.columns)],
    [picked, view.columns],
  );
  const nothing = jobs.isSuccess && jobs.items.length === 0;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Group gap="md">
          <Title order={1} size="h3">
            Jobs
          </Title>
          <QueueLine />
        </Group>
        <Group gap="xs">
          <Button
            variant="default"
            leftSection={<GitCompare size={15} />}
            disabled={picked.size < 2}
            onClick={() => void go(`/compare?jobs=${[...picked].join(",")}`)}
          >
            Compare{picked.size > 0 ? ` ${picked.size}` : ""}
          </Button>
          <Button component={Link} to="/submit" leftSection={<Plus size={15} />}>
            Submit a job
          </Button>
        </Group>
      </Group>
      <Group gap="xs" align="flex-start">
        <QueryBox
          label="Filter jobs"
          placeholder="status in (failed, killed) or runtime > 2h"
          value={view.q}
          onSubmit={(q) => view.set({ q })}
          error={jobs.error}
          kind="job"
          keys={keys}
          values={values}
        />
        <Group gap="xs" wrap="nowrap">
          <ColumnChoice
            chosen={view.columns}
            offered={[...BUILT_IN, ...args, ...own]}
            set={(next) => view.set({ columns: next.length > 0 ? next.join(",") : "," })}
          />
          <CopyIcon text={window.location.href} label="Copy the link to this view" />
        </Group>
      </Group>
      {jobs.isPending && <Skeleton h={300} />}
      {!view.q && !view.sort && <Problem error={jobs.error} />}
      {nothing && view.q && <Empty title="No job matches">Change the query, or clear it.</Empty>}
      {nothing && !view.q && (
        <Empty title="No jobs yet" command="acai run --output hello -- 'mkdir -p out && echo hi > out/hi.txt'">
          A job runs a command on a set and keeps what it writes. Submit one here, or from a terminal:
        </Empty>
      )}
      {jobs.items.length > 0 && !jobs.error && (
        <>
          <Grid
            label="Jobs"
            rows={jobs.items}
            columns={columns}
            rowKey={(job) => job.id}
            chosen={(job) => picked.has(job.id)}
            sort={view.sort}
            onSort={(sort) => view.set({ sort })}
            more={jobs.more}
            loadingMore={jobs.isFetchingNextPage}
          />
          <Text size="xs" c="dimmed" role="status">
            {formatCount(jobs.items.length, "job")} shown{jobs.hasNextPage ? "; scroll for more" : ""}
          </Text>
        </>
      )}
    </Stack>
  );
}

function pickColumn(
  picked: ReadonlySet<string>,
  set: (next: ReadonlySet<string>) => void,
): Column<FoundJob> {
  return {
    id: "pick",
    header: <VisuallyHidden>Compare</VisuallyHidden>,
    size: 40,
    cell: (job) => (
      <input
        type="checkbox"
        aria-label={`Choose ${job.name ?? job.id} to compare`}
        checked={picked.has(job.id)}
        onChange={(event) => {
          const next = new Set(picked);
          if (event.currentTarget.checked) next.add(job.id);
          else next.delete(job.id);
          set(next);
        }}
      />
    ),
  };
}

function ColumnChoice(props: { chosen: string[]; offered: string[]; set: (next: string[]) => void }) {
  const all = [...new Set([...props.offered, ...props.chosen])];
  return (
    <Popover position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default" leftSection={<Columns3 size={15} />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Checkbox.Group value={props.chosen} onChange={props.set} aria-label="Columns">
          <Stack gap={8} mah={380} style={{ overflowY: "auto" }} pr="md">
            {all.map((key) => (
              <Checkbox key={key} size="xs" value={key} label={headerOf(key)} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}
