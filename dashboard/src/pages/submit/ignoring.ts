/** What is no code, by the same rules as the command line's; see docs/jobs.md. */

const DIRECTORIES = new Set([
  ...[".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__"],
  ...[".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"],
]);
export const IGNORE_FILE = ".acaiignore";
const FILES = ["*.pyc", ".DS_Store", IGNORE_FILE];

interface Rule {
  pattern: RegExp;
  directoriesOnly: boolean;
  takesBack: boolean;
}

/** A directory that is never code, wherever it lies: not worth looking into. */
export function neverCode(directoryName: string): boolean {
  return DIRECTORIES.has(directoryName);
}

/** Whether a path below the code's directory is left out by these lines of an ignore file. */
export function ignoring(lines: string[]): (path: string) => boolean {
  const rules = [...[...DIRECTORIES].map((name) => `${name}/`), ...FILES, ...lines].flatMap(ruleOf);
  const skips = (path: string, isDirectory: boolean) =>
    rules.reduce(
      (skipped, rule) =>
        (isDirectory || !rule.directoriesOnly) && rule.pattern.test(path) ? !rule.takesBack : skipped,
      false,
    );
  return (path) => {
    const names = path.split("/");
    // What lies in a directory that is left out is not looked at, and cannot be taken back.
    return names.some((_, at) => skips(names.slice(0, at + 1).join("/"), at < names.length - 1));
  };
}

function ruleOf(line: string): Rule[] {
  let text = line.replace(/[\r\n]+$/, "");
  if (!text.endsWith("\\ ")) text = text.replace(/ +$/, "");
  if (!text || text.startsWith("#")) return [];
  const takesBack = text.startsWith("!");
  if (takesBack) text = text.slice(1);
  const directoriesOnly = text.endsWith("/");
  text = text.replace(/\/+$/, "");
  if (!text) return [];
  const anywhere = text.includes("/") ? "" : "(?:.*/)?";
  const pieces = text.replace(/^\/+/, "").match(/\*\*\/|\/\*\*$|\*|\?|\[[!^]?\]?[^\]]*\]|\\.|./gsu) ?? [];
  try {
    const pattern = new RegExp(`^${anywhere}${pieces.map(translated).join("")}$`, "su");
    return [{ pattern, directoriesOnly, takesBack }];
  } catch {
    return []; // such as a range that goes backwards
  }
}

function translated(piece: string): string {
  if (piece === "**/") return "(?:.*/)?";
  if (piece === "/**") return "/.*";
  if (piece === "*") return "[^/]*";
  if (piece === "?") return "[^/]";
  if (piece.startsWith("[") && piece.length > 2) {
    const negated = "!^".includes(piece.charAt(1));
    const inside = piece.slice(negated ? 2 : 1, -1).replace(/[\\\][^]/g, "\\$&");
    return inside ? `(?!/)[${negated ? "^" : ""}${inside}]` : "(?!)";
  }
  const plain = piece.startsWith("\\") && piece.length === 2 ? piece.slice(1) : piece;
  return plain.replace(/[\\^$.*+?()[\]{}|/-]/g, (one) => (one === "-" ? "-" : `\\${one}`));
}
