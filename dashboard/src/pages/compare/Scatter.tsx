import { Box } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { Link } from "react-router";
import type { Fact } from "./facts";
import { scaleOf, ticksOf } from "./scale";

interface Dot {
  label: string;
  color: string;
  link: string;
  x: unknown;
  y: unknown;
}

const HEIGHT = 380;
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 20, 16, 48];

/** One dot for each job that has both numbers. */
export function Scatter({ x, y, points, diagonal }: { x: Fact; y: Fact; points: Dot[]; diagonal?: boolean }) {
  const { ref, width } = useElementSize();
  const dots = points.filter(
    (dot): dot is Dot & { x: number; y: number } => typeof dot.x === "number" && typeof dot.y === "number",
  );
  const across = scaleOf(dots.map((dot) => dot.x), LEFT, Math.max(LEFT + 50, width - RIGHT));
  const up = scaleOf(dots.map((dot) => dot.y), HEIGHT - BOTTOM, TOP);
  return (
    <Box ref={ref} w="100%">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="group" aria-label={`${y.key} over ${x.key}`}>
          {ticksOf(across).map((tick) => (
            <g key={tick} className="tick">
              <line x1={across.at(tick)} x2={across.at(tick)} y1={TOP} y2={HEIGHT - BOTTOM} />
              <text x={across.at(tick)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
                {x.show(tick)}
              </text>
            </g>
          ))}
          {ticksOf(up).map((tick) => (
            <g key={tick} className="tick">
              <line x1={LEFT} x2={width - RIGHT} y1={up.at(tick)} y2={up.at(tick)} />
              <text x={LEFT - 8} y={up.at(tick) + 4} textAnchor="end">
                {y.show(tick)}
              </text>
            </g>
          ))}
          {diagonal && (
            <line
              x1={across.at(Math.max(across.low, up.low))}
              y1={up.at(Math.max(across.low, up.low))}
              x2={across.at(Math.min(across.high, up.high))}
              y2={up.at(Math.min(across.high, up.high))}
              stroke="var(--mantine-color-dimmed)"
              strokeDasharray="5 4"
            />
          )}
          <text x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 8} textAnchor="middle" className="axis">
            {x.key}
          </text>
          <text x={14} y={HEIGHT / 2} textAnchor="middle" className="axis" transform={`rotate(-90 14 ${HEIGHT / 2})`}>
            {y.key}
          </text>
          {dots.map((dot) => (
            <Link key={dot.link} to={dot.link} aria-label={`${dot.label}: ${x.show(dot.x)}, ${y.show(dot.y)}`}>
              <circle cx={across.at(dot.x)} cy={up.at(dot.y)} r={7} fill={dot.color}>
                <title>{`${dot.label}\n${x.key} ${x.show(dot.x)}\n${y.key} ${y.show(dot.y)}`}</title>
              </circle>
            </Link>
          ))}
        </svg>
      )}
    </Box>
  );
}
