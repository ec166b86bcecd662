import { Anchor, Group, Paper, Progress, SimpleGrid, Skeleton, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import { formatSize } from "../../format";
import { Problem } from "../../parts/Problem";
import { useQueue } from "../jobs/QueueLine";

const ACTIVE = encodeURIComponent("status in (launching, downloading, running, uploading)");

/** What there is to run on, and who waits for it. */
export function Engine() {
  const { data, error } = useQueue();
  if (error) return <Problem error={error} />;
  if (!data) return <Skeleton h={160} />;
  const { capacity } = data;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Gauge label="CPU" used={capacity.cpu - data.free_cpu} all={capacity.cpu} show={(value) => String(Number(value.toFixed(2)))} />
        <Gauge label="Memory" used={capacity.memory - data.free_memory} all={capacity.memory} show={formatSize} />
        {capacity.gpu > 0 && <Gauge label="GPU" used={capacity.gpu - data.free_gpu} all={capacity.gpu} show={String} />}
      </SimpleGrid>
      <Group gap="xl">
        <Text>
          <Anchor component={Link} to={`/jobs?q=${ACTIVE}`}>
            {data.active} running
          </Anchor>
          , of which {data.own_active} yours (at most {data.limit})
        </Text>
        <Text>
          <Anchor component={Link} to="/jobs?q=status%20%3D%20queued">
            {data.queued} waiting
          </Anchor>
          , of which {data.own_queued} yours
        </Text>
      </Group>
    </Stack>
  );
}

function Gauge(props: { label: string; used: number; all: number; show: (value: number) => string }) {
  const { label, used, all, show } = props;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb={6}>
        <Title order={2} size="h6">
          {label}
        </Title>
        <Text size="sm">
          {show(used)} of {show(all)}
        </Text>
      </Group>
      <Progress value={all > 0 ? (100 * used) / all : 0} size="lg" aria-label={`${label} in use`} />
    </Paper>
  );
}
