import { Box, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useState } from "react";
import type { Fact } from "./facts";
import { scaleOf } from "./scale";

const HEIGHT = 360;
const [SIDE, TOP, BOTTOM] = [60, 34, 34];

interface ParallelProps {
  axes: Fact[];
  lines: { label: string; color: string }[];
}

/** One upright axis for each number, one line across them for each job. */
export function Parallel({ axes, lines }: ParallelProps) {
  const { ref, width } = useElementSize();
  const [over, setOver] = useState<number | null>(null);
  if (axes.length < 2) return <Text c="dimmed">Choose at least two axes.</Text>;
  const place = (index: number) => SIDE + (index * (Math.max(width, 300) - 2 * SIDE)) / (axes.length - 1);
  const scales = axes.map((axis) =>
    scaleOf(axis.values.filter((value) => typeof value === "number"), HEIGHT - BOTTOM, TOP),
  );
  return (
    <Box ref={ref} w="100%">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`${lines.length} jobs over ${axes.map((axis) => axis.key).join(", ")}`}>
          {axes.map((axis, index) => (
            <g key={axis.key} className="tick">
              <line x1={place(index)} x2={place(index)} y1={TOP} y2={HEIGHT - BOTTOM} />
              <text x={place(index)} y={14} textAnchor="middle" className="axis">
                {axis.key}
              </text>
              <Ends axis={axis} x={place(index)} scale={scales[index]} />
            </g>
          ))}
          {lines.map((line, job) => (
            <polyline
              key={line.label}
              fill="none"
              stroke={line.color}
              strokeWidth={over === job ? 4 : 2}
              opacity={over === null || over === job ? 0.9 : 0.2}
              points={axes
                .map((axis, index) => {
                  const value = axis.values[job];
                  return typeof value === "number" ? `${place(index)},${scales[index]?.at(value) ?? 0}` : null;
                })
                .filter(Boolean)
                .join(" ")}
              onMouseEnter={() => setOver(job)}
              onMouseLeave={() => setOver(null)}
            >
              <title>{`${line.label}\n${axes.map((axis) => `${axis.key} ${axis.show(axis.values[job])}`).join("\n")}`}</title>
            </polyline>
          ))}
        </svg>
      )}
    </Box>
  );
}

function Ends({ axis, x, scale }: { axis: Fact; x: number; scale: ReturnType<typeof scaleOf> | undefined }) {
  const numbers = axis.values.filter((value): value is number => typeof value === "number");
  if (!scale || numbers.length === 0) return null;
  return [...new Set([Math.min(...numbers), Math.max(...numbers)])].map((value) => (
    <text key={value} x={x} y={scale.at(value) + (value === Math.max(...numbers) ? -8 : 18)} textAnchor="middle">
      {axis.show(value)}
    </text>
  ));
}
