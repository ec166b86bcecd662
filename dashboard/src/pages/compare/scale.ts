interface Scale {
  low: number;
  high: number;
  at: (value: number) => number;
}

/** Numbers to places on a line, with a little room at both ends. */
export function scaleOf(values: number[], from: number, to: number): Scale {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  [low, high] = [low - room, high + room];
  return { low, high, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
}

/** About five round numbers within the scale. */
export function ticksOf({ low, high }: Scale, count = 5): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) {
    ticks.push(Number(tick.toPrecision(12)));
  }
  return ticks;
}
