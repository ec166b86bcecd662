import { Group, Progress, Stack, Table, Text, Tooltip } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { formatDuration, formatTime } from "../../format";
import { Status } from "./Status";

const PHASES = [
  ["queue", "waiting", "gray.6"],
  ["launch", "starting", "cyan.7"],
  ["download", "downloading", "blue.5"],
  ["run", "running", "berry.6"],
  ["upload", "uploading", "teal.6"],
] as const;

/** Where the time went, and every state with its moment. */
export function Timeline({ job }: { job: Schemas["JobDetail"] }) {
  const total = PHASES.reduce((sum, [key]) => sum + job.phases[key], 0);
  return (
    <Stack gap="xs">
      {total > 0 && (
        <>
          <Progress.Root size={18} aria-hidden>
            {PHASES.map(([key, label, color]) => (
              <Tooltip key={key} label={`${label} ${formatDuration(job.phases[key])}`}>
                <Progress.Section value={(100 * job.phases[key]) / total} color={color} />
              </Tooltip>
            ))}
          </Progress.Root>
          <Group gap="md">
            {PHASES.filter(([key]) => job.phases[key] > 0).map(([key, label, color]) => (
              <Group key={key} gap={5}>
                <Text span c={color} aria-hidden lh={1}>
                  ■
                </Text>
                <Text size="xs">
                  {label} {formatDuration(job.phases[key])}
                </Text>
              </Group>
            ))}
          </Group>
        </>
      )}
      <Table fz="sm" verticalSpacing={4} horizontalSpacing="xs">
        <Table.Tbody>
          {job.timeline.map((step, index) => (
            <Table.Tr key={index}>
              <Table.Td w={132}>
                <Status status={step.status} size="sm" past={index < job.timeline.length - 1} />
              </Table.Td>
              <Table.Td>
                <time dateTime={step.time}>{formatTime(step.time)}</time>
                {step.attempt > 1 && ` · attempt ${step.attempt}`}
                {step.reason && (
                  <Text span inherit c="dimmed" className="name">
                    {" "}
                    · {step.reason}
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right" c="dimmed">
                {since(job.timeline[index - 1]?.time, step.time)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function since(before: string | undefined, now: string): string {
  return before ? `+${formatDuration((Date.parse(now) - Date.parse(before)) / 1000)}` : "";
}
