import { Badge, Group } from "@mantine/core";
import { Link } from "react-router";
import type { Schemas } from "../../api/client";
import { formatCost, formatDuration, formatNumber, formatSize } from "../../format";
import type { Column } from "../../parts/Grid";
import { When } from "../../parts/When";
import { showValue } from "../../values";
import { Status } from "./Status";

export type FoundJob = Schemas["FoundJob"];

interface Known {
  header: string;
  size: number;
  right?: boolean;
  cell: (job: FoundJob) => React.ReactNode;
}

/** Columns that are keys of the query language, so that each can be sorted by. */
const KNOWN: Record<string, Known> = {
  status: { header: "Status", size: 118, cell: (job) => <Status status={job.status} size="sm" /> },
  submit_time: { header: "Submitted", size: 116, cell: (job) => <When time={job.submit_time} /> },
  start_time: { header: "Started", size: 116, cell: (job) => job.start_time && <When time={job.start_time} /> },
  end_time: { header: "Ended", size: 116, cell: (job) => job.end_time && <When time={job.end_time} /> },
  runtime: { header: "Run time", size: 100, right: true, cell: (job) => formatDuration(job.runtime) },
  queue_time: { header: "Waited", size: 100, right: true, cell: (job) => formatDuration(job.queue_time) },
  cost: { header: "Cost", size: 96, right: true, cell: (job) => formatCost(job.cost) },
  cpu: { header: "CPU", size: 70, right: true, cell: (job) => job.cpu ?? "–" },
  memory: { header: "Memory", size: 92, right: true, cell: (job) => formatSize(job.memory) },
  gpu: { header: "GPU", size: 70, right: true, cell: (job) => job.gpu ?? "–" },
  peak_memory: { header: "Peak memory", size: 120, right: true, cell: (job) => formatSize(job.peak_memory) },
  cpu_seconds: { header: "CPU time", size: 100, right: true, cell: (job) => formatDuration(job.cpu_seconds) },
  exit_code: { header: "Exit code", size: 96, right: true, cell: (job) => job.exit_code ?? "–" },
  creator: { header: "By", size: 100, cell: (job) => job.creator },
  command: {
    header: "Command",
    size: 260,
    cell: (job) => <span className="mono">{job.command}</span>,
  },
  tags: {
    header: "Tags",
    size: 150,
    cell: (job) => (
      <Group gap={4} wrap="nowrap">
        {job.tags.map((tag) => (
          <Badge key={tag} size="sm" variant="light" tt="none">
            {tag}
          </Badge>
        ))}
      </Group>
    ),
  },
};

export const BUILT_IN = Object.keys(KNOWN);
export const DEFAULT = ["status", "submit_time", "runtime", "cost", "creator", "command"];

export function headerOf(key: string): string {
  return KNOWN[key]?.header ?? key;
}

/** The table's columns: the name, then those that were chosen. */
export function columnsFor(keys: string[]): Column<FoundJob>[] {
  return [
    {
      id: "name",
      header: "Job",
      grow: true,
      sorts: "up",
      cell: (job) => (
        <Link to={`/jobs/${job.id}`} className="entry">
          {job.name ?? job.id}
        </Link>
      ),
    },
    ...keys.map((key): Column<FoundJob> => {
      const known = KNOWN[key];
      return {
        id: key,
        header: known?.header ?? key,
        size: known?.size ?? 120,
        sorts: key === "tags" ? undefined : "down",
        right: known?.right,
        cell: (job) => (known ? known.cell(job) : own(job, key)),
      };
    }),
  ];
}

function own(job: FoundJob, key: string): string {
  const value = key.startsWith("args.") ? job.args[key.slice(5)] : job.meta[key];
  if (value === undefined) return "";
  return typeof value === "number" ? formatNumber(value) : showValue(value);
}
