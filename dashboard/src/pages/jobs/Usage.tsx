import { Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got, type Schemas } from "../../api/client";
import { formatDuration, formatSize } from "../../format";
import { Chart } from "../../parts/Chart";
import { Problem } from "../../parts/Problem";

type Sample = Schemas["UsageSample"];

/** The samples so far; those that are there are not read again. */
function useUsage(job: string) {
  const queries = useQueryClient();
  const queryKey = ["usage", job];
  return useQuery({
    queryKey,
    queryFn: async () => {
      const held = queries.getQueryData<Sample[]>(queryKey) ?? [];
      const query = { after: held.at(-1)?.time };
      const { items } = await got(api.GET("/api/v1/jobs/{job}/usage", { params: { path: { job }, query } }));
      return [...held, ...items];
    },
  });
}

/** What the program used of CPU and memory, against what it may use. */
export function Usage({ job }: { job: Schemas["JobDetail"] }) {
  const { data: samples = [], error } = useUsage(job.id);
  if (error) return <Problem error={error} />;
  if (samples.length === 0) {
    return <Text c="dimmed">No samples: the program has not run, or ended at once.</Text>;
  }
  const began = Date.parse(job.start_time ?? samples[0]?.time ?? "");
  const at = (sample: Sample) => Math.max(0, (Date.parse(sample.time) - began) / 1000);
  const over = (pick: (sample: Sample) => number) =>
    samples.map((sample) => ({ x: at(sample), y: pick(sample) }));
  const last = samples.reduce((most, sample) => Math.max(most, at(sample)), Math.max(job.runtime ?? 0, 1));
  const limit = (most: number) => [
    { x: 0, y: most },
    { x: last, y: most },
  ];
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Paper withBorder p="sm">
        <Title order={2} size="h6">
          CPU, in cores
        </Title>
        <Chart
          label="CPU over time"
          showX={formatDuration}
          curves={[
            { label: "used", points: over((sample) => sample.cpu) },
            { label: "limit", points: limit(job.cpu), color: "#e03131", dash: true },
          ]}
        />
      </Paper>
      <Paper withBorder p="sm">
        <Title order={2} size="h6">
          Memory
        </Title>
        <Chart
          label="Memory over time"
          showX={formatDuration}
          showY={formatSize}
          curves={[
            { label: "used", points: over((sample) => sample.memory) },
            { label: "limit", points: limit(job.memory), color: "#e03131", dash: true },
          ]}
        />
      </Paper>
    </SimpleGrid>
  );
}
