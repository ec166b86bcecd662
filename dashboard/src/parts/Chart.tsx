import "uplot/dist/uPlot.min.css";
import { Box, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";

export interface Curve {
  label: string;
  points: { x: number; y: number }[];
  color?: string;
  dash?: boolean;
}

interface ChartProps {
  label: string;
  curves: Curve[];
  height?: number;
  time?: boolean; // x are seconds since 1970
  showX?: (x: number) => string;
  showY?: (y: number) => string;
}

export const COLORS = [
  "#8a4cc4",
  "#e8590c",
  "#2f9e44",
  "#1c7ed6",
  "#d6336c",
  "#b08900",
  "#0c8599",
  "#868e96",
];

const WHOLE_STEPS = [1, 2, 5].flatMap((one) => [0, 1, 2, 3, 4, 5, 6].map((power) => one * 10 ** power)).sort((a, b) => a - b);

/** Lines over a common axis. */
export function Chart({ label, curves, height = 240, time, showX, showY }: ChartProps) {
  const { ref, width } = useElementSize();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const shape = curves.map((curve) => `${curve.label}\u0000${curve.dash}`).join("\u0001");
  const data = joined(curves);
  const counted = !time && data[0].every(Number.isInteger); // epochs and the like
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    if (!box.current || width === 0) return;
    const ink = scheme === "dark" ? "#c9c4d2" : "#4a4453";
    const faint = scheme === "dark" ? "#34303b" : "#ece9f0";
    const axis = { stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1 } };
    const made = new uPlot(
      {
        width,
        height,
        scales: { x: { time: time ?? false } },
        axes: [
          { ...axis, ...(counted ? { incrs: WHOLE_STEPS } : {}), ...(showX ? { values: (_u, xs) => xs.map(showX) } : {}) },
          { ...axis, size: 62, ...(showY ? { values: (_u, ys) => ys.map(showY) } : {}) },
        ],
        series: [
          {},
          ...curves.map((curve, index) => ({
            label: curve.label,
            stroke: curve.color ?? COLORS[index % COLORS.length],
            width: 2,
            dash: curve.dash ? [6, 4] : undefined,
            points: { show: curve.points.length < 40 && !curve.dash },
            spanGaps: true,
          })),
        ],
      },
      latest.current,
      box.current,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, height, scheme, shape, time, counted]);

  useEffect(() => {
    plot.current?.setData(data);
  });

  return (
    <Box ref={ref} w="100%">
      <div ref={box} role="img" aria-label={label} />
    </Box>
  );
}

/** All curves over the union of their x, as the plotter wants them. */
function joined(curves: Curve[]): uPlot.AlignedData {
  const xs = [...new Set(curves.flatMap((curve) => curve.points.map((point) => point.x)))].sort(
    (a, b) => a - b,
  );
  return [
    xs,
    ...curves.map((curve) => {
      const at = new Map(curve.points.map((point) => [point.x, point.y]));
      return xs.map((x) => at.get(x) ?? null);
    }),
  ] as uPlot.AlignedData;
}
