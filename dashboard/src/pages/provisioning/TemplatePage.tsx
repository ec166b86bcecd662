import { Alert, Anchor, Badge, Code, Grid, Group, Paper, Progress, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { api, got, type Schemas } from "../../api/client";
import { formatCost, formatDuration, formatSize } from "../../format";
import { PageTitle } from "../../parts/PageTitle";
import { Problem } from "../../parts/Problem";
import { Wide } from "../../parts/Wide";
import { showValue } from "../../values";
import { Scatter } from "../compare/Scatter";
import { PlanForm } from "./PlanForm";
import { STATUS_COLOR } from "./TemplatesPage";

type Point = Schemas["TrialPoint"];

export function Component() {
  const { template: name = "" } = useParams();
  const template = useQuery({
    queryKey: ["templates", name],
    queryFn: () => got(api.GET("/api/v1/templates/{template}", { params: { path: { template: name } } })),
  });
  if (template.error) {
    return (
      <Stack>
        <PageTitle within="Provisioning" to="/provisioning">
          {name}
        </PageTitle>
        <Problem error={template.error} />
      </Stack>
    );
  }
  if (!template.data) return <Skeleton h={400} />;
  const { data } = template;
  return (
    <Stack>
      <Group>
        <PageTitle within="Provisioning" to="/provisioning">
          {data.name}
        </PageTitle>
        <Badge variant="light" tt="none" color={STATUS_COLOR[data.status]}>
          {data.status}
        </Badge>
      </Group>
      <Code block>{data.command}</Code>
      {data.reason && data.status === "failed" && <Alert color="red">{data.reason}</Alert>}
      {data.status === "profiling" && (
        <Progress
          value={(100 * data.progress.done) / Math.max(1, data.progress.grid)}
          animated
          aria-label="Profiling"
        />
      )}
      <Text size="sm" c="dimmed">
        {data.progress.done} of {data.progress.grid} runs done, {data.progress.failed} failed, {formatCost(data.progress.spent)} spent
        {data.model && ` · model: ${data.model}`}
        {data.reason && data.status !== "failed" && ` · ${data.reason}`}
        {data.error !== null && ` · expected error ${(100 * data.error).toFixed(1)} %`}
      </Text>
      {data.explanation && <Text size="sm">{data.explanation}</Text>}
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 6 }}>
          <Paper withBorder p="md">
            <Title order={2} size="h5" mb="sm">
              Plan a run
            </Title>
            {data.status === "profiling" ? (
              <Text c="dimmed">When the profiling is done.</Text>
            ) : (
              <PlanForm template={data} />
            )}
          </Paper>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 6 }}>
          <Paper withBorder p="md">
            <Title order={2} size="h5" mb="sm">
              Predicted against actual run time
            </Title>
            <Predicted points={data.points} />
          </Paper>
        </Grid.Col>
        <Grid.Col span={12}>
          <Points points={data.points} names={data.parameters.map((one) => one.name)} />
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

function Predicted({ points }: { points: Point[] }) {
  const known = points.filter((point) => point.seconds !== null && point.predicted !== null);
  if (known.length === 0) return <Text c="dimmed">No run has ended yet.</Text>;
  const show = (value: unknown) => formatDuration(value as number);
  return (
    <Scatter
      x={{ key: "actual", values: known.map((one) => one.seconds), show }}
      y={{ key: "predicted", values: known.map((one) => one.predicted), show }}
      diagonal
      points={known.map((point) => ({
        label: `${point.cpu} CPU, ${formatSize(point.memory)}`,
        color: point.profiled ? "#8a4cc4" : "#e8590c",
        link: `/jobs/${point.job}`,
        x: point.seconds,
        y: point.predicted,
      }))}
    />
  );
}

function Points({ points, names }: { points: Point[]; names: string[] }) {
  return (
    <Wide label="Runs" minWidth={640}>
      <Table verticalSpacing={5} fz="sm" withTableBorder>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Job</Table.Th>
            {names.map((name) => (
              <Table.Th key={name} ta="right">
                {name}
              </Table.Th>
            ))}
            <Table.Th ta="right">CPU</Table.Th>
            <Table.Th ta="right">Memory</Table.Th>
            <Table.Th ta="right">Actual</Table.Th>
            <Table.Th ta="right">Predicted</Table.Th>
            <Table.Th ta="right">Before it ran</Table.Th>
            <Table.Th ta="right">Cost</Table.Th>
            <Table.Th>Outcome</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {points.map((point) => (
            <Table.Tr key={point.job}>
              <Table.Td>
                <Anchor component={Link} to={`/jobs/${point.job}`} inherit>
                  {point.job}
                </Anchor>
              </Table.Td>
              {names.map((name) => (
                <Table.Td key={name} ta="right">
                  {showValue((point.values as Record<string, unknown>)[name])}
                </Table.Td>
              ))}
              <Table.Td ta="right">{point.cpu}</Table.Td>
              <Table.Td ta="right">{formatSize(point.memory)}</Table.Td>
              <Table.Td ta="right">{formatDuration(point.seconds)}</Table.Td>
              <Table.Td ta="right">{formatDuration(point.predicted)}</Table.Td>
              <Table.Td ta="right">{formatDuration(point.predicted_before)}</Table.Td>
              <Table.Td ta="right">{formatCost(point.cost)}</Table.Td>
              <Table.Td>{point.outcome}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
