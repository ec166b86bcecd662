import { Group, Progress, SegmentedControl, Select, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, got } from "../../api/client";
import { formatCost, formatDuration, formatWhole } from "../../format";
import { Problem } from "../../parts/Problem";
import { Wide } from "../../parts/Wide";

const SPANS: Record<string, number | null> = {
  "last 7 days": 7,
  "last 30 days": 30,
  "all time": null,
};

/** What jobs have used and cost. */
export function Costs() {
  const [by, setBy] = useState("user");
  const [span, setSpan] = useState("last 30 days");
  const since = useMemo(() => {
    const days = SPANS[span];
    return days ? new Date(Date.now() - days * 86_400_000).toISOString() : undefined;
  }, [span]);
  const costs = useQuery({
    queryKey: ["costs", by, span],
    queryFn: () => got(api.GET("/api/v1/costs", { params: { query: { by, since } } })),
    placeholderData: (before) => before,
  });
  const items = costs.data?.items ?? [];
  const most = Math.max(...items.map((one) => one.cost), 0);
  return (
    <Stack>
      <Group>
        <SegmentedControl
          aria-label="By"
          value={by}
          onChange={setBy}
          data={["user", "day", "template", "tag"].map((value) => ({ value, label: `by ${value}` }))}
        />
        <Select aria-label="Time" data={Object.keys(SPANS)} value={span} onChange={(next) => next && setSpan(next)} allowDeselect={false} w={150} />
      </Group>
      <Problem error={costs.error} />
      {costs.isPending && <Skeleton h={160} />}
      {costs.isSuccess && items.length === 0 && <Text c="dimmed">No job has run in this time.</Text>}
      {items.length > 0 && (
        <Wide label="Costs" minWidth={520}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{by}</Table.Th>
                <Table.Th ta="right">Jobs</Table.Th>
                <Table.Th ta="right">Run time</Table.Th>
                <Table.Th ta="right">CPU hours</Table.Th>
                <Table.Th ta="right">Cost</Table.Th>
                <Table.Th w="24%">Share</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((one) => (
                <Table.Tr key={one.key ?? ""}>
                  <Table.Td className="name">{one.key ?? "none"}</Table.Td>
                  <Table.Td ta="right">{formatWhole(one.jobs)}</Table.Td>
                  <Table.Td ta="right">{formatDuration(one.runtime)}</Table.Td>
                  <Table.Td ta="right">{one.cpu_hours.toFixed(2)}</Table.Td>
                  <Table.Td ta="right">{formatCost(one.cost)}</Table.Td>
                  <Table.Td>
                    <Progress value={most > 0 ? (100 * one.cost) / most : 0} aria-label={`Cost of ${one.key ?? "none"}`} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Stack>
  );
}
