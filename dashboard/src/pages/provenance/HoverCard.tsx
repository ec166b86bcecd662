import { Paper, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { useMetadata } from "../../parts/MetadataEditor";
import { showValue } from "../../values";
import type { Point } from "./graph";
import type { Size } from "./view";

export interface Hover {
  id: string;
  at: Point;
  size: Size; // of what it hovers over
}

const SHOWN = ["status", "creator", "create_time", "file_count", "command", "runtime"];

/** What is known of the node under the pointer, in a few lines. */
export function HoverCard({ hover }: { hover: Hover }) {
  const [rested, setRested] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setRested(true), 120);
    return () => clearTimeout(timer);
  }, []);
  const { data } = useMetadata(hover.id, rested);
  if (!data) return null;
  const built = SHOWN.filter((key) => data.built_in[key] !== undefined && data.built_in[key] !== null);
  return (
    <Paper
      withBorder
      shadow="md"
      p="xs"
      pos="absolute"
      maw={300}
      style={{ ...beside(hover), pointerEvents: "none", zIndex: 5 }}
    >
      <Text size="sm" fw={600} className="name">
        {hover.id.replace(/^\w+:/, "")}
      </Text>
      {[...built.map((key) => [key, data.built_in[key]] as const), ...Object.entries(data.meta)]
        .slice(0, 12)
        .map(([key, value]) => (
          <Text key={key} size="xs" className="clip">
            <Text span c="dimmed" inherit>
              {key}
            </Text>{" "}
            {showValue(value)}
          </Text>
        ))}
      {data.tags.length > 0 && (
        <Text size="xs" className="clip">
          {data.tags.map((tag) => `#${tag}`).join(" ")}
        </Text>
      )}
    </Paper>
  );
}

/** On the side of the node that has more room. */
function beside({ at, size }: Hover) {
  return {
    ...(at.x < size.width / 2 ? { left: at.x + 18 } : { right: size.width - at.x + 18 }),
    ...(at.y < size.height / 2 ? { top: at.y + 12 } : { bottom: size.height - at.y + 12 }),
  };
}
