import { Anchor, Group, MultiSelect, Paper, Select, Skeleton, Stack, Switch, Table, Tabs, Text, Title } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { formatNumber } from "../../format";
import { Chart, COLORS } from "../../parts/Chart";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { Wide } from "../../parts/Wide";
import { Status } from "../jobs/Status";
import { axesOf, differs, type Fact, factsOf } from "./facts";
import { Parallel } from "./Parallel";
import { Scatter } from "./Scatter";

type JobDetail = Schemas["JobDetail"];

export function Component() {
  const [search, setSearch] = useSearchParams();
  const ids = useMemo(() => (search.get("jobs") ?? "").split(",").filter(Boolean), [search]);
  const queries = useQueries({
    queries: ids.map((job) => ({
      queryKey: ["job", job],
      queryFn: () => got(api.GET("/api/v1/jobs/{job}", { params: { path: { job } } })),
    })),
  });
  const jobs = queries.flatMap((query) => (query.data ? [query.data] : []));
  const pending = queries.some((query) => query.isPending);
  const error = queries.find((query) => query.error)?.error;
  const facts = factsOf(jobs);
  if (ids.length < 2) {
    return (
      <Stack>
        <Title order={1} size="h3">
          Compare
        </Title>
        <Empty title="Choose at least two jobs">
          Mark them in the{" "}
          <Anchor component={Link} to="/jobs">
            list of jobs
          </Anchor>
          , then press Compare.
        </Empty>
      </Stack>
    );
  }
  return (
    <Stack>
      <Title order={1} size="h3">
        Compare {ids.length} jobs
      </Title>
      <Problem error={error} />
      {pending ? (
        <Skeleton h={300} />
      ) : (
        <Tabs
          value={search.get("tab") ?? "differences"}
          onChange={(tab) => {
            const kept = new URLSearchParams(search);
            kept.set("tab", tab ?? "differences");
            setSearch(kept, { replace: true });
          }}
          keepMounted={false}
        >
          <Tabs.List>
            <Tabs.Tab value="differences">Differences</Tabs.Tab>
            <Tabs.Tab value="curves">Curves</Tabs.Tab>
            <Tabs.Tab value="scatter">Scatter</Tabs.Tab>
            <Tabs.Tab value="parallel">Parallel coordinates</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="differences" pt="md">
            <Differences jobs={jobs} facts={facts} />
          </Tabs.Panel>
          <Tabs.Panel value="curves" pt="md">
            <Overlaid jobs={jobs} />
          </Tabs.Panel>
          <Tabs.Panel value="scatter" pt="md">
            <ScatterTab jobs={jobs} facts={facts} />
          </Tabs.Panel>
          <Tabs.Panel value="parallel" pt="md">
            <ParallelTab jobs={jobs} facts={facts} />
          </Tabs.Panel>
        </Tabs>
      )}
    </Stack>
  );
}

function nameOf(job: JobDetail): string {
  return job.name ? `${job.name} (${job.id.slice(-4)})` : job.id;
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? "#868e96";
}

function Differences({ jobs, facts }: { jobs: JobDetail[]; facts: Fact[] }) {
  const [all, setAll] = useState(false);
  const shown = facts.filter((fact) => all || differs(fact));
  return (
    <Stack gap="sm">
      <Switch label="Show what is equal too" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
      <Wide label="Differences" minWidth={180 + 160 * jobs.length}>
        <Table withTableBorder withColumnBorders verticalSpacing={6} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={150}>Key</Table.Th>
              {jobs.map((job, index) => (
                <Table.Th key={job.id}>
                  <Text span c={colorOf(index)} aria-hidden>
                    ●
                  </Text>{" "}
                  <Anchor component={Link} to={`/jobs/${job.id}`} inherit className="name">
                    {nameOf(job)}
                  </Anchor>
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((fact) => (
              <Table.Tr key={fact.key}>
                <Table.Th fw={500} className="name">
                  {fact.key}
                </Table.Th>
                {fact.values.map((value, index) => (
                  <Table.Td key={jobs[index]?.id} className="name">
                    {fact.key === "status" ? <Status status={String(value)} size="sm" /> : fact.show(value)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </Stack>
  );
}

function Overlaid({ jobs }: { jobs: JobDetail[] }) {
  const results = useQueries({
    queries: jobs.map((job) => ({
      queryKey: ["series", job.id],
      queryFn: () => got(api.GET("/api/v1/jobs/{job}/series", { params: { path: { job: job.id } } })),
    })),
  });
  const keys = [...new Set(results.flatMap((one) => one.data?.items.map((series) => series.key) ?? []))].sort();
  if (results.every((one) => !one.isPending) && keys.length === 0) {
    return <Text c="dimmed">None of these jobs printed a number as a tag.</Text>;
  }
  return (
    <Stack>
      {keys.map((key) => (
        <Paper key={key} withBorder p="sm">
          <Title order={2} size="h6" className="name">
            {key}
          </Title>
          <Chart
            label={`${key} of ${jobs.length} jobs`}
            showY={formatNumber}
            curves={jobs.map((job, index) => ({
              label: nameOf(job),
              color: colorOf(index),
              points: (results[index]?.data?.items.find((one) => one.key === key)?.points ?? []).map(
                (point) => ({ x: point.n, y: point.value }),
              ),
            }))}
          />
        </Paper>
      ))}
    </Stack>
  );
}

function ScatterTab({ jobs, facts }: { jobs: JobDetail[]; facts: Fact[] }) {
  const axes = axesOf(facts);
  const [x, setX] = useState<string | null>(axes[0]?.key ?? null);
  const [y, setY] = useState<string | null>(axes.at(1)?.key ?? axes[0]?.key ?? null);
  const [across, up] = [axes.find((one) => one.key === x), axes.find((one) => one.key === y)];
  if (axes.length === 0) return <Text c="dimmed">These jobs share no numbers to draw.</Text>;
  const names = axes.map((axis) => axis.key);
  return (
    <Stack>
      <Group>
        <Select label="Across" data={names} value={x} onChange={setX} searchable />
        <Select label="Up" data={names} value={y} onChange={setY} searchable />
      </Group>
      {across && up && (
        <Scatter
          x={across}
          y={up}
          points={jobs.map((job, index) => ({
            label: nameOf(job),
            color: colorOf(index),
            link: `/jobs/${job.id}`,
            x: across.values[index],
            y: up.values[index],
          }))}
        />
      )}
    </Stack>
  );
}

function ParallelTab({ jobs, facts }: { jobs: JobDetail[]; facts: Fact[] }) {
  const axes = axesOf(facts);
  const telling = axes.filter(differs).map((axis) => axis.key);
  const [chosen, setChosen] = useState(telling.slice(0, 6));
  if (axes.length === 0) return <Text c="dimmed">These jobs share no numbers to draw.</Text>;
  return (
    <Stack>
      <MultiSelect label="Axes" data={axes.map((axis) => axis.key)} value={chosen} onChange={setChosen} searchable />
      <Parallel
        axes={chosen.flatMap((key) => axes.find((axis) => axis.key === key) ?? [])}
        lines={jobs.map((job, index) => ({ label: nameOf(job), color: colorOf(index) }))}
      />
    </Stack>
  );
}
