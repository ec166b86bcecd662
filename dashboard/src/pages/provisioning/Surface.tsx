import { Box, Group, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import type { Schemas } from "../../api/client";
import { formatCost, formatDuration, formatSize } from "../../format";

type Plan = Schemas["ProvisionPlan"];

const [LEFT, BOTTOM, HEIGHT] = [64, 40, 300];

/** Predicted time over CPU and memory: the darker, the longer; what is over the limit is crossed. */
export function Surface({ plan }: { plan: Plan }) {
  const { ref, width } = useElementSize();
  const cells = plan.surface;
  if (cells.length === 0) return null;
  const cpus = [...new Set(cells.map((one) => one.cpu))].sort((a, b) => a - b);
  const memories = [...new Set(cells.map((one) => one.memory))].sort((a, b) => a - b);
  const [low, high] = [Math.min(...cells.map((one) => one.seconds)), Math.max(...cells.map((one) => one.seconds))];
  const w = Math.max(0, width - LEFT) / cpus.length;
  const h = (HEIGHT - BOTTOM) / memories.length;
  const shade = (seconds: number) =>
    high > low ? (Math.log(seconds) - Math.log(low)) / (Math.log(high) - Math.log(low)) : 0;
  const every = (count: number) => Math.max(1, Math.ceil(count / 8));
  return (
    <Box ref={ref} w="100%">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`Predicted time over ${cpus.length} CPU and ${memories.length} memory sizes`}>
          {cells.map((one) => {
            const x = LEFT + cpus.indexOf(one.cpu) * w;
            const y = HEIGHT - BOTTOM - (memories.indexOf(one.memory) + 1) * h;
            const chosen = plan.choice?.cpu === one.cpu && plan.choice.memory === one.memory;
            return (
              <g key={`${one.cpu}/${one.memory}`}>
                <rect
                  x={x}
                  y={y}
                  width={w}
                  height={h}
                  fill={one.allowed ? `color-mix(in oklab, #5b2a86 ${15 + 80 * shade(one.seconds)}%, #f3e8ff)` : "#868e96"}
                  opacity={one.allowed ? 1 : 0.35}
                  stroke={chosen ? "#e8590c" : "none"}
                  strokeWidth={chosen ? 3 : 0}
                >
                  <title>{`${one.cpu} CPU, ${formatSize(one.memory)}: ${formatDuration(one.seconds)}, ${formatCost(one.cost)}${one.allowed ? "" : ", over the limit"}`}</title>
                </rect>
                {!one.allowed && w > 8 && h > 8 && (
                  <path d={`M${x + 2} ${y + 2}L${x + w - 2} ${y + h - 2}`} stroke="#e03131" opacity={0.6} />
                )}
              </g>
            );
          })}
          {plan.choice && (
            <rect
              x={LEFT + cpus.indexOf(plan.choice.cpu) * w}
              y={HEIGHT - BOTTOM - (memories.indexOf(plan.choice.memory) + 1) * h}
              width={w}
              height={h}
              fill="none"
              stroke="#e8590c"
              strokeWidth={3}
            />
          )}
          <g className="tick">
            {cpus.map((cpu, index) =>
              index % every(cpus.length) === 0 ? (
                <text key={cpu} x={LEFT + (index + 0.5) * w} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
                  {cpu}
                </text>
              ) : null,
            )}
            {memories.map((memory, index) =>
              index % every(memories.length) === 0 ? (
                <text key={memory} x={LEFT - 6} y={HEIGHT - BOTTOM - (index + 0.5) * h + 4} textAnchor="end">
                  {formatSize(memory)}
                </text>
              ) : null,
            )}
          </g>
          <text className="axis" x={LEFT + (width - LEFT) / 2} y={HEIGHT - 6} textAnchor="middle">
            CPU
          </text>
        </svg>
      )}
      <Group gap="md">
        <Text size="xs">light: {formatDuration(low)} · dark: {formatDuration(high)}</Text>
        <Text size="xs">grey and crossed: over the limit</Text>
        <Text size="xs">orange frame: chosen</Text>
      </Group>
    </Box>
  );
}
