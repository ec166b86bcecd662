import { Alert, Anchor, Button, Code, Grid, Group, Menu, Paper, Skeleton, Stack, Table, Tabs, Text, Title } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Copy, OctagonX, Play, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { formatCost, formatDuration, formatSize } from "../../format";
import { MetadataEditor } from "../../parts/MetadataEditor";
import { PageTitle } from "../../parts/PageTitle";
import { Problem } from "../../parts/Problem";
import { When } from "../../parts/When";
import { showValue } from "../../values";
import { referenceLink } from "../data/links";
import { Curves } from "./Curves";
import { LogView } from "./LogView";
import { hasEnded, Status } from "./Status";
import { Timeline } from "./Timeline";
import { Usage } from "./Usage";
import { useLog } from "./useLog";
import { asCommandLine, asYaml } from "./writing";

type JobDetail = Schemas["JobDetail"];

export function Component() {
  const { job: id = "" } = useParams();
  const job = useQuery({
    queryKey: ["job", id],
    queryFn: () => got(api.GET("/api/v1/jobs/{job}", { params: { path: { job: id } } })),
  });
  if (job.error) {
    return (
      <Stack>
        <PageTitle within="Jobs" to="/jobs">
          {id}
        </PageTitle>
        <Problem error={job.error} />
      </Stack>
    );
  }
  if (!job.data) return <Skeleton h={400} />;
  return <JobView key={id} job={job.data} />;
}

function JobView({ job }: { job: JobDetail }) {
  const log = useLog(job.id);
  const [tab, setTab] = useState<string | null>("log");
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Group gap="sm">
          <PageTitle within="Jobs" to="/jobs">
          {job.name ?? job.id}
        </PageTitle>
          <span aria-live="polite">
            <Status status={job.status} />
          </span>
        </Group>
        <Actions job={job} />
      </Group>
      <Text size="sm" c="dimmed">
        {job.name && <>{job.id} · </>}
        by {job.creator} · submitted <When time={job.submit_time} />
        {job.attempt > 1 && ` · attempt ${job.attempt}`}
        {job.cached_from && (
          <>
            {" "}
            · output taken from{" "}
            <Anchor component={Link} to={`/jobs/${job.cached_from}`} inherit>
              {job.cached_from}
            </Anchor>
          </>
        )}
      </Text>
      <Notices job={job} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="sm">
            <Code block fz="sm" tabIndex={0} aria-label="Command">
              {job.command}
            </Code>
            <Tabs value={tab} onChange={setTab} keepMounted={false}>
              <Tabs.List>
                <Tabs.Tab value="log">Log</Tabs.Tab>
                <Tabs.Tab value="curves">Curves</Tabs.Tab>
                <Tabs.Tab value="usage">CPU and memory</Tabs.Tab>
                <Tabs.Tab value="timeline">Time line</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="log" pt="sm">
                <LogView job={job.id} log={log} />
              </Tabs.Panel>
              <Tabs.Panel value="curves" pt="sm">
                <Curves job={job.id} />
              </Tabs.Panel>
              <Tabs.Panel value="usage" pt="sm">
                <Usage job={job} />
              </Tabs.Panel>
              <Tabs.Panel value="timeline" pt="sm">
                <Timeline job={job} />
              </Tabs.Panel>
            </Tabs>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="sm">
            <Facts job={job} />
            <Paper withBorder p="md">
              <Title order={2} size="h5" mb="sm">
                Metadata
              </Title>
              <MetadataEditor entity={`job:${job.id}`} hide={SHOWN_ABOVE} />
            </Paper>
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

const SHOWN_ABOVE = new Set([
  ...["id", "name", "status", "creator", "command", "runtime", "queue_time", "cost", "cpu"],
  ...["memory", "gpu", "peak_memory", "cpu_seconds", "exit_code"],
]);

function Notices({ job }: { job: JobDetail }) {
  return (
    <>
      {job.waiting && (
        <Alert color="gray" p="xs">
          Place {job.waiting.position} in the queue: {job.waiting.reason}
        </Alert>
      )}
      {job.kill_requested && !hasEnded(job.status) && (
        <Alert color="orange" p="xs">
          It has been asked to end.
        </Alert>
      )}
      {job.reason && (
        <Alert color={job.status === "killed" ? "orange" : "red"} p="xs" className="name">
          {job.reason}
        </Alert>
      )}
      {job.notes.map((note) => (
        <Alert key={note} color="yellow" p="xs" className="name">
          {note}
        </Alert>
      ))}
    </>
  );
}

function Actions({ job }: { job: JobDetail }) {
  const go = useNavigate();
  const queries = useQueryClient();
  const clipboard = useClipboard();
  const path = { job: job.id };
  const kill = useMutation({
    mutationFn: () => got(api.POST("/api/v1/jobs/{job}/kill", { params: { path } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["job", job.id] }),
    onError: complain,
  });
  const rerun = useMutation({
    mutationFn: () => got(api.POST("/api/v1/jobs/{job}/rerun", { params: { path }, body: {} })),
    onSuccess: (made) => go(`/jobs/${made.id}`),
    onError: complain,
  });
  const copy = (text: string, what: string) => {
    clipboard.copy(text);
    notifications.show({ message: `Copied as ${what}` });
  };
  return (
    <Group gap="xs">
      {!hasEnded(job.status) && (
        <Button
          color="red"
          variant="light"
          leftSection={<OctagonX size={15} />}
          loading={kill.isPending}
          onClick={() => kill.mutate()}
        >
          Kill
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<Play size={15} />}
        loading={rerun.isPending}
        onClick={() => rerun.mutate()}
      >
        Run again
      </Button>
      <Button
        variant="default"
        component={Link}
        to={`/submit?from=${job.id}`}
        leftSection={<SlidersHorizontal size={15} />}
      >
        With changes
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<Copy size={15} />}>
            Copy
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => copy(asCommandLine(job.request), "a command line")}>
            As a command line
          </Menu.Item>
          <Menu.Item onClick={() => copy(asYaml(job.request), "YAML")}>As YAML</Menu.Item>
          <Menu.Item onClick={() => copy(job.id, "an id")}>The id</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

function complain(error: Error): void {
  notifications.show({ color: "red", message: error.message });
}

function Facts({ job }: { job: JobDetail }) {
  const rows: [string, ReactNode][] = [
    ["Run time", formatDuration(job.runtime)],
    ["Waited", formatDuration(job.queue_time)],
    ["Cost", formatCost(job.cost)],
    ["CPU", `${job.cpu}${job.cpu_seconds ? ` · used ${formatDuration(job.cpu_seconds)}` : ""}`],
    ["Memory", `${formatSize(job.memory)}${job.peak_memory ? ` · peak ${formatSize(job.peak_memory)}` : ""}`],
    ...(job.gpu ? [["GPU", String(job.gpu)] as [string, ReactNode]] : []),
    ["Exit code", job.exit_code ?? "–"],
    ["Input", job.inputs.length > 0 ? <References all={[...job.inputs]} /> : "–"],
    ["Code", job.code ? <CodeReference code={job.code} /> : "–"],
    ["Output", job.output ? <References all={[job.output]} /> : (job.request.output?.name ?? "–")],
    ...Object.entries(job.request.args).map(
      ([key, value]) => [`args.${key}`, showValue(value)] as [string, ReactNode],
    ),
    ...(job.template
      ? [["Template", <TemplateLink key="t" name={job.template} />] as [string, ReactNode]]
      : []),
    ...(job.request.description ? [["About", job.request.description] as [string, ReactNode]] : []),
    ["Environment", <Text key="e" span inherit className="mono">{job.environment_digest.slice(0, 12)}</Text>],
  ];
  return (
    <Paper withBorder p="md">
      <Table withRowBorders={false} verticalSpacing={3} horizontalSpacing={0} fz="sm" layout="fixed">
        <Table.Tbody>
          {rows.map(([label, value]) => (
            <Table.Tr key={label}>
              <Table.Th w="34%" fw={500} c="dimmed" className="name">
                {label}
              </Table.Th>
              <Table.Td className="name">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function TemplateLink({ name }: { name: string }) {
  return (
    <Anchor component={Link} to={`/provisioning/${encodeURIComponent(name)}`} inherit>
      {name}
    </Anchor>
  );
}

function References({ all }: { all: string[] }) {
  return all.map((one, index) => (
    <span key={one}>
      {index > 0 && ", "}
      <Anchor component={Link} to={referenceLink(one)} inherit>
        {one}
      </Anchor>
    </span>
  ));
}

/** `/path/@NAME:VERSION` leads to the set it names. */
function CodeReference({ code }: { code: string }) {
  const set = /@([^@]+:\d+)$/.exec(code)?.[1];
  if (!set) return code;
  return (
    <Anchor component={Link} to={referenceLink(set)} inherit>
      {code}
    </Anchor>
  );
}
