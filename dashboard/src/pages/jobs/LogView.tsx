import { ActionIcon, Button, Checkbox, Group, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronUp, Download, Search } from "lucide-react";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { formatCount, formatWhole } from "../../format";
import { Problem } from "../../parts/Problem";
import { type Piece, parseAnsi, plainText } from "./ansi";
import { LONGEST } from "./lines";
import type { Log } from "./useLog";

const LINE = 20;

export function LogView({ job, log }: { job: string; log: Log }) {
  const [following, setFollowing] = useState(true);
  const [typed, setTyped] = useState("");
  const [wanted] = useDebouncedValue(typed.toLowerCase(), 200);
  const box = useRef<HTMLDivElement>(null);
  const { lines, count } = log;
  const virtual = useVirtualizer({
    count: lines.count,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 20,
  });
  const matches = useMatches(log, wanted);
  const [current, setCurrent] = useState(0);
  useEffect(() => setCurrent(0), [wanted]);

  useEffect(() => {
    if (following && lines.count > 0) virtual.scrollToIndex(lines.count - 1, { align: "end" });
  }, [following, count, lines, virtual]);

  function jump(step: number) {
    if (matches.length === 0) return;
    const next = (current + step + matches.length) % matches.length;
    setCurrent(next);
    setFollowing(false);
    virtual.scrollToIndex(matches[next] ?? 0, { align: "center" });
  }

  const found = useMemo(() => new Set(matches), [matches]);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <TextInput
          aria-label="Search in the log"
          placeholder="Search"
          size="xs"
          leftSection={<Search size={14} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
          }}
        />
        {wanted && (
          <>
            <Text size="xs" role="status">
              {matches.length > 0 ? `${current + 1} of ${formatWhole(matches.length)}` : "not found"}
            </Text>
            <ActionIcon variant="default" size="sm" aria-label="Previous match" onClick={() => jump(-1)}>
              <ChevronUp size={14} />
            </ActionIcon>
            <ActionIcon variant="default" size="sm" aria-label="Next match" onClick={() => jump(1)}>
              <ChevronDown size={14} />
            </ActionIcon>
          </>
        )}
        <Checkbox
          size="xs"
          label="Follow"
          checked={following}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
        <Text size="xs" c="dimmed" ml="auto">
          {formatCount(lines.count + lines.dropped, "line")}
          {log.ended ? "" : ", live"}
        </Text>
        <Tooltip label="The whole log, as it was printed">
          <Button
            component="a"
            href={`/api/v1/jobs/${job}/logs`}
            download={`${job}.log`}
            size="compact-xs"
            variant="default"
            leftSection={<Download size={13} />}
          >
            Download
          </Button>
        </Tooltip>
      </Group>
      <Problem error={log.error} />
      {lines.dropped > 0 && (
        <Text size="xs" c="dimmed">
          The first {formatWhole(lines.dropped)} lines are left out here; download the log to see them.
        </Text>
      )}
      {lines.shortened > 0 && (
        <Text size="xs" c="dimmed">
          {formatCount(lines.shortened, "line is", "lines are")} cut after {formatWhole(LONGEST)}{" "}
          characters; download the log to see all of it.
        </Text>
      )}
      <div
        ref={box}
        className="log"
        style={{ height: "min(60vh, 640px)", position: "relative" }}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log"
        onWheel={(event) => {
          if (event.deltaY < 0) setFollowing(false);
        }}
      >
        {lines.count === 0 && (
          <Text size="sm" c="dimmed" p="sm">
            {log.ended ? "The job printed nothing." : "Nothing printed yet."}
          </Text>
        )}
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => (
            <div
              key={item.key}
              className="line"
              style={{ top: item.start, height: LINE }}
              data-found={found.has(item.index) || undefined}
              data-current={matches[current] === item.index || undefined}
            >
              <span className="number">{item.index + 1 + lines.dropped}</span>
              {parseAnsi(lines.at(item.index)).map((piece, index) => (
                <span key={index} style={styleOf(piece)}>
                  {piece.text}
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
    </Stack>
  );
}

function useMatches(log: Log, wanted: string): number[] {
  const { lines, count } = log;
  return useMemo(() => {
    const found: number[] = [];
    if (!wanted || count === 0) return found;
    for (let index = 0; index < lines.count; index += 1) {
      if (plainText(lines.at(index)).toLowerCase().includes(wanted)) found.push(index);
    }
    return found;
  }, [lines, count, wanted]);
}

function styleOf(piece: Piece): CSSProperties | undefined {
  if (Object.keys(piece).length === 1) return undefined;
  return {
    color: piece.color,
    backgroundColor: piece.background,
    fontWeight: piece.bold ? 700 : undefined,
    fontStyle: piece.italic ? "italic" : undefined,
    textDecoration: piece.underline ? "underline" : undefined,
    opacity: piece.dim ? 0.75 : undefined,
  };
}
