"""The command line and the dashboard leave the same files out of a job's code."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acai.client.ignoring import DEFAULTS, Ignored

DASHBOARD = Path(__file__).parents[2] / "dashboard"
TYPESCRIPT = DASHBOARD / "node_modules" / "typescript"
RUN = """
const [typescript, source] = process.argv.slice(1);
const ts = require(typescript);
const text = require("fs").readFileSync(source, "utf8");
const module_ = { exports: {} };
const compilerOptions = { module: "CommonJS", target: "ES2022" };
const made = ts.transpileModule(text, { compilerOptions });
new Function("module", "exports", made.outputText)(module_, module_.exports);
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([lines, paths]) => {
  const skips = module_.exports.ignoring(lines);
  return paths.map((path) => skips(path));
})));
"""
LINES = (
    *("*.pyc", "/data", "docs/*.md", "docs/**/*.md", "**/logs", "a/**", "!keep.py", "build/"),
    *("[!a]b", "[^a]b", "[z-a]", "[!]", "[]a]", "[a-]", "[", "a]", "[\\]", "a\\ ", "\\#a", "\\!a"),
    *("# a", "  ", "a.b+(c", "é*", "?", "**", "a&&b", "[&-~]", "a{1}", "$", "a/b/", "/"),
)
PATHS = ("a", "b", "ab", "a/b", "a/b/ab", "docs/x/a.md", "keep.py", "x/keep.py", "build/keep.py")


def cases() -> list[tuple[list[str], list[str]]]:
    """The written ones each alone, and many made of the same characters."""
    found = [([line], [*PATHS, line.strip(), line.replace("\\", "")]) for line in LINES]
    choose = random.Random(4)
    for _ in range(1500):
        lines = ["".join(choose.choices("ab/*?[]!^-\\ .#", k=choose.randrange(1, 8))) for _ in "12"]
        names = ["".join(choose.choices("ab]^!-\\ .", k=choose.randrange(1, 4))) for _ in "123456"]
        found.append((lines, [*names[:3], "/".join(names[:2]), "/".join(names[3:])]))
    return [(lines, [path for path in paths if path]) for lines, paths in found]


def skips(lines: list[str], path: str) -> bool:
    ignored = Ignored([*DEFAULTS, *lines])
    names = path.split("/")
    return any(
        ignored.skips("/".join(names[: at + 1]), is_directory=at < len(names) - 1)
        for at in range(len(names))
    )


@pytest.mark.skipif(not TYPESCRIPT.exists(), reason="the dashboard has not been built here")
def test_both_leave_out_the_same() -> None:
    node = shutil.which("node") or str(Path(sys.executable).parent / "node")
    done = subprocess.run(
        [node, "-e", RUN, str(TYPESCRIPT), str(DASHBOARD / "src/pages/submit/ignoring.ts")],
        input=json.dumps(cases()),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(done.stdout)
    differ = [
        (lines, path, own, other)
        for (lines, paths), answers in zip(cases(), theirs, strict=True)
        for path, other in zip(paths, answers, strict=True)
        if (own := skips(lines, path)) != other
    ]
    assert differ == []
