import {
  ActionIcon,
  Alert,
  Badge,
  Box,
  Button,
  Group,
  Loader,
  Stack,
  Text,
  Title,
  Tooltip,
} from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Image, Maximize } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { formatCount } from "../../format";
import { Empty } from "../../parts/Empty";
import { Problem } from "../../parts/Problem";
import { FindNode } from "./FindNode";
import { GraphCanvas, type GraphHandle } from "./GraphCanvas";
import { type Hover, HoverCard } from "./HoverCard";
import type { Direction } from "./links";
import { NodePanel } from "./NodePanel";
import { usePath, usePlaced, useTrace, useWholeGraph } from "./useDrawing";

export function Component() {
  const [search, setSearch] = useSearchParams();
  const from = search.get("from");
  const direction = (search.get("direction") === "forward" ? "forward" : "back") as Direction;
  const depth = Number(search.get("depth")) || null;
  const chosen = search.get("node");
  const [one, other] = [search.get("one"), search.get("other")];
  const [found, setFound] = useState<Set<string> | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const graph = useRef<GraphHandle>(null);
  const wide = useMediaQuery("(min-width: 62em)", true, { getInitialValueInEffect: false });

  const whole = useWholeGraph(from === null);
  const trace = useTrace(from, direction, depth);
  const drawn = from === null ? whole.data : trace.data?.drawing;
  const placed = usePlaced(drawn, !wide);
  const path = usePath(one, other);
  const marked = useMemo(() => {
    if (one && other) return path.data ? new Set(path.data) : null;
    return found;
  }, [one, other, path.data, found]);

  const change = (next: Record<string, string | number | null>) =>
    setSearch(
      (before) => {
        const kept = new URLSearchParams(before);
        for (const [key, value] of Object.entries(next)) {
          if (value === null) kept.delete(key);
          else kept.set(key, String(value));
        }
        return kept;
      },
      { replace: !("from" in next) },
    );

  const error = from === null ? whole.error : trace.error;
  const empty = from === null && drawn?.nodes.length === 0;
  const sets = drawn?.nodes.filter((node) => node.kind === "set").length ?? 0;
  const jobs = (drawn?.nodes.length ?? 0) - sets;
  const summary = jobs > 0 ? `${formatCount(sets, "set")} and ${formatCount(jobs, "job")}` : formatCount(sets, "set");
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Provenance
        </Title>
        {!empty && drawn && (
          <FindNode
            drawing={drawn}
            onFound={setFound}
            onChoose={(id) => {
              change({ node: id });
              graph.current?.show(id);
            }}
          />
        )}
      </Group>
      <TraceBar from={from} direction={direction} depth={depth} change={change} />
      <Problem error={error ?? path.error} />
      {one && (
        <Alert color="orange" p="xs">
          <Group justify="space-between">
            <Text size="sm">
              {!other && `From ${one.slice(4)}: choose the set at the other end.`}
              {other && path.data?.length === 0 && `No way leads between ${one.slice(4)} and ${other.slice(4)}.`}
              {other && path.data && path.data.length > 0 && `All ways between ${one.slice(4)} and ${other.slice(4)}.`}
            </Text>
            <Button size="xs" variant="default" onClick={() => change({ one: null, other: null })}>
              Clear the path
            </Button>
          </Group>
        </Alert>
      )}
      {empty && (
        <Empty title="Nothing came from anything yet" command="acai set create mydata /data/">
          Sets appear here with the jobs and sets they were made of. Make one:
        </Empty>
      )}
      {!empty && !error && (
        <Group align="stretch" gap="md" wrap="nowrap">
          <Box
            pos="relative"
            flex={1}
            h={wide ? "calc(100vh - 190px)" : "58vh"}
            mih={320}
            style={{
              border: "1px solid var(--mantine-color-default-border)",
              borderRadius: "var(--mantine-radius-md)",
              overflow: "hidden",
            }}
          >
            {placed ? (
              <GraphCanvas
                key={`${from} ${direction}`}
                handle={graph}
                placed={placed}
                chosen={chosen}
                marked={marked}
                label={`Graph of ${summary}. Find a node above to read about it.`}
                onHover={setHover}
                onChoose={(id) => {
                  if (id && one && !other && id !== one && id.startsWith("set:")) {
                    change({ node: id, other: id });
                  } else {
                    change({ node: id });
                  }
                }}
              />
            ) : (
              <Group p="md" gap="sm">
                <Loader size="sm" />
                <Text size="sm">{drawn ? `Placing ${summary}` : "Reading the graph"}</Text>
              </Group>
            )}
            <Legend text={summary} />
            <Group pos="absolute" top={8} right={8} gap={6}>
              <Tooltip label="Fit to view">
                <ActionIcon variant="default" aria-label="Fit to view" onClick={() => graph.current?.fit()}>
                  <Maximize size={16} />
                </ActionIcon>
              </Tooltip>
              <Tooltip label="Save as picture">
                <ActionIcon
                  variant="default"
                  aria-label="Save as picture"
                  onClick={() => graph.current?.picture()}
                >
                  <Image size={16} />
                </ActionIcon>
              </Tooltip>
            </Group>
            {hover && hover.id !== chosen && <HoverCard key={hover.id} hover={hover} />}
          </Box>
          <NodePanel id={chosen} docked={wide ?? true} change={change} />
        </Group>
      )}
    </Stack>
  );
}

function Legend({ text }: { text: string }) {
  return (
    <Group
      pos="absolute"
      bottom={0}
      left={0}
      gap={6}
      p={8}
      bg="var(--mantine-color-body)"
      bdrs="md"
      style={{ pointerEvents: "none" }}
    >
      <Badge variant="light" color="berry" tt="none" radius="sm">
        ▬ set
      </Badge>
      <Badge variant="light" color="green" tt="none" radius="sm">
        ◆ job
      </Badge>
      <Text size="xs" c="dimmed">
        {text}
      </Text>
    </Group>
  );
}

interface TraceBarProps {
  from: string | null;
  direction: Direction;
  depth: number | null;
  change: (next: Record<string, string | number | null>) => void;
}

function TraceBar({ from, direction, depth, change }: TraceBarProps) {
  if (!from) return null;
  return (
    <Group gap="xs">
      <Text size="sm" className="name">
        {direction === "back" ? "What " : "What came from "}
        <b>{from.slice(4)}</b>
        {direction === "back" ? " was made of" : ""}
        {depth ? `, ${formatCount(depth, "step")} far` : ", all the way"}
      </Text>
      <Button
        size="xs"
        variant="default"
        onClick={() => change({ direction: direction === "back" ? "forward" : "back" })}
      >
        Trace {direction === "back" ? "forward" : "back"}
      </Button>
      {depth ? (
        <>
          <Button size="xs" variant="default" onClick={() => change({ depth: depth + 1 })}>
            One step further
          </Button>
          <Button size="xs" variant="default" onClick={() => change({ depth: null })}>
            All the way
          </Button>
        </>
      ) : (
        <Button size="xs" variant="default" onClick={() => change({ depth: 1 })}>
          Step by step
        </Button>
      )}
      <Button
        size="xs"
        variant="subtle"
        onClick={() => change({ from: null, direction: null, depth: null })}
      >
        Whole graph
      </Button>
    </Group>
  );
}
