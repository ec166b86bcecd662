/** How values are shown to people. */

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

export function formatSize(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "–";
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const shown = unit === 0 || value >= 100 ? Math.round(value).toString() : value.toPrecision(2);
  return `${Number(shown)} ${UNITS[unit]}`;
}

export function formatWhole(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${formatWhole(count)} ${count === 1 ? one : many}`;
}

export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const [d, h, m, s] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  return `${m} min ${s} s`;
}

export function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return formatWhole(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

export function formatCost(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return "–";
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "<$0.0001";
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

export function formatTime(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function formatMoment(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

const AGES: [number, string][] = [
  [60, "s"],
  [3600, "min"],
  [86400, "h"],
  [86400 * 30, "d"],
];

export function formatAge(iso: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - new Date(iso).getTime()) / 1000);
  if (seconds < 5) return "just now";
  let per = 1;
  for (const [below, unit] of AGES) {
    if (seconds < below) return `${Math.floor(seconds / per)} ${unit} ago`;
    per = below === 86400 * 30 ? 86400 : below;
  }
  return new Date(iso).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** The last component of a path; a directory keeps its slash. */
export function baseName(path: string): string {
  const found = /[^/]+\/?$/.exec(path);
  return found ? found[0] : "/";
}

/** A path as a reference writes it, see docs/references.md. */
export function escapePath(path: string): string {
  return path.replaceAll("%", "%25").replaceAll("@", "%40").replace(/:(\d+)$/, "%3A$1");
}

/** A word of a shell command line. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
