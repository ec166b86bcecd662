import { Paper, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, got } from "../../api/client";
import { formatNumber } from "../../format";
import { Chart } from "../../parts/Chart";
import { CopyCommand } from "../../parts/CopyCommand";
import { Problem } from "../../parts/Problem";

function useSeries(job: string) {
  return useQuery({
    queryKey: ["series", job],
    queryFn: () => got(api.GET("/api/v1/jobs/{job}/series", { params: { path: { job } } })),
  });
}

/** A curve for each number that the job printed as a tag, live. */
export function Curves({ job }: { job: string }) {
  const { data, error } = useSeries(job);
  const [axis, setAxis] = useState("n");
  if (error) return <Problem error={error} />;
  if (data && data.items.length === 0) {
    return (
      <Stack gap="xs">
        <Text c="dimmed">No numbers yet. A program that prints such a line draws a curve:</Text>
        <CopyCommand command="[ACAI_TAG_NUM] JOB training_loss:0.043" />
      </Stack>
    );
  }
  return (
    <Stack>
      <SegmentedControl
        size="xs"
        value={axis}
        onChange={setAxis}
        data={[
          { value: "n", label: "By step" },
          { value: "time", label: "By time" },
        ]}
        w="fit-content"
      />
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {data?.items.map((series) => (
          <Paper key={series.key} withBorder p="sm">
            <Title order={2} size="h6" className="name">
              {series.key}{" "}
              <Text span c="dimmed" inherit fw={400}>
                {formatNumber(series.points.at(-1)?.value ?? 0)}
              </Text>
            </Title>
            <Chart
              label={`Curve of ${series.key}`}
              time={axis === "time"}
              height={200}
              showY={formatNumber}
              curves={[
                {
                  label: series.key,
                  points: series.points.map((point) => ({
                    x: axis === "time" ? Date.parse(point.time) / 1000 : point.n,
                    y: point.value,
                  })),
                },
              ]}
            />
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  );
}
