"""The commands that README.md and docs/ show are run, and must answer as the pages say.

A `console` block holds `$ command` lines with what they print. A line of it is compared word by
word, after what differs from run to run (addresses, tokens, ids, times) has been made alike;
`…` in a line stands for anything, and a line of `…` for any lines. Python blocks are run too.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from servers.acai_up import acai_up, clean_environment

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    if re.search(r"^```(console|python)$", page.read_text("utf-8"), re.MULTILINE)
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN_ADDRESS = "127.0.0.1:7650"
_SHOWN_HOME = "/home/ada"

# What differs from run to run, and what stands for it on both sides.
_ALIKE = (
    (re.compile(r"\bacai_[a-z0-9]{12}_[a-z0-9]{34}\b"), "TOKEN"),
    (re.compile(r"\b(user|req)-[a-z0-9]{10,12}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b\d+ ms\b"), "MS"),
    (re.compile(r"\b3\.\d+\.\d+\b"), "PYTHON"),
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command or a Python program of a page, and what the page says that it prints."""

    command: str
    prints: list[str] = field(default_factory=list)
    python: bool = False


def steps(page: str) -> Iterator[Step]:
    for kind, body in _FENCE.findall(page):
        if kind == "python":
            yield Step(command=body, python=True)
        elif kind == "console":
            yield from _console(body)


def _console(body: str) -> Iterator[Step]:
    lines = body.splitlines()
    assert lines and lines[0].startswith("$ "), f"a console block begins with a command: {body}"
    current: Step | None = None
    for line in lines:
        if line.startswith("$ "):
            if current is not None:
                yield current
            current = Step(command=line[2:])
        else:
            assert current is not None
            current.prints.append(line)
    if current is not None:
        yield current


def alike(text: str) -> str:
    for pattern, word in _ALIKE:
        text = pattern.sub(word, text)
    return text


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Whether what was printed has the shape that the page shows."""
    parts = []
    for line in shown:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
            continue
        words = [".*".join(map(re.escape, word.split("…"))) for word in alike(line).split()]
        parts.append(r"\s*" + r"[ \t]+".join(words) + r"[ \t]*\n")
    text = "".join(f"{alike(line)}\n" for line in printed)
    return re.fullmatch("".join(parts), text) is not None


class Reader:
    """Someone who types what a page says, with an empty home directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        home = directory / ".acai"
        self.environment = clean_environment(
            home, HOME=str(directory), LOGNAME="ada", ACAI_PORT="0", NO_COLOR="1"
        )
        del self.environment["ACAI_HOME"]  # pages speak of the default, below HOME
        self.exports: list[str] = []
        self.server: subprocess.Popen[str] | None = None
        self.address = _SHOWN_ADDRESS

    def follow(self, step: Step) -> list[str]:
        """Do it; returns the lines that were printed, with the page's name for the home."""
        if step.python:
            printed = self._run([sys.executable, "-c", step.command], step)
        elif step.command == "acai up":
            printed = self.start(len(step.prints))
        else:
            if step.command.split()[0] == "curl" and shutil.which("curl") is None:
                pytest.skip("this page calls curl, which is not installed here")
            script = "\n".join(["set -euo pipefail", *self.exports, self._here(step.command)])
            printed = self._run(["bash", "-c", script], step)
            if step.command.startswith("export "):
                self.exports.append(self._here(step.command))
        return [line.replace(str(self.directory), _SHOWN_HOME) for line in printed]

    def start(self, lines: int) -> list[str]:
        """Run `acai up` beside the rest; returns its first lines."""
        log = self.directory / "server.log"
        with log.open("w") as output:
            self.server = subprocess.Popen(
                ["acai", "up"],
                env=self.environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        deadline = time.monotonic() + 30
        while "acai is ready" not in log.read_text():
            assert self.server.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        printed = log.read_text().splitlines()
        found = re.search(r"http://(127\.0\.0\.1:\d+)", log.read_text())
        assert found is not None
        self.address = found[1]
        return printed[:lines]

    def stop(self) -> None:
        """Ctrl-C; it must end well."""
        assert self.server is not None
        self.server.send_signal(signal.SIGINT)
        assert self.server.wait(timeout=20) == 0

    def _here(self, command: str) -> str:
        return command.replace(_SHOWN_ADDRESS, self.address)

    def _run(self, command: list[str], step: Step) -> list[str]:
        result = subprocess.run(
            command,
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 0, f"{step.command}\nexit {result.returncode}\n{result.stdout}"
        return result.stdout.splitlines()


@contextmanager
def reader(directory: Path) -> Iterator[Reader]:
    someone = Reader(directory)
    try:
        yield someone
        someone.stop()
    finally:
        if someone.server is not None and someone.server.poll() is None:
            someone.server.kill()
            someone.server.wait()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    shown = list(steps(page.read_text("utf-8")))
    with reader(tmp_path) as someone:
        if not any(step.command == "acai up" for step in shown):
            someone.start(0)
        for step in shown:
            printed = someone.follow(step)
            if not step.python:
                assert agrees(step.prints, printed), _difference(step, printed)


@pytest.mark.slow
def test_a_backup_made_as_documented_serves_again(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    with reader(tmp_path) as someone:
        someone.start(0)
        someone.follow(Step(command="acai user create mei"))
        for step in steps(page):
            someone.follow(step)
    with acai_up(tmp_path / "restored") as server:
        environment = clean_environment(server.home)
        listed = subprocess.run(
            ["acai", "user", "ls", "--json"], env=environment, capture_output=True, check=True
        )
    assert [user["name"] for user in json.loads(listed.stdout)] == ["ada", "mei"]


def _difference(step: Step, printed: list[str]) -> str:
    return "\n".join([f"$ {step.command}", "page:", *step.prints, "program:", *printed])


def test_readme_is_among_the_pages() -> None:
    assert PAGES[0].name == "README.md"
    commands = [step.command for step in steps(PAGES[0].read_text("utf-8"))]
    assert "acai up" in commands
    assert len(commands) >= 6


def test_comparison_sees_a_difference() -> None:
    shown = ["user     ada", "server   http://127.0.0.1:7650"]
    assert agrees(shown, ["user  ada", "server  http://127.0.0.1:43210"])
    assert not agrees(shown, ["user  bob", "server  http://127.0.0.1:43210"])
    assert not agrees(shown, ["user  ada"])
    assert not agrees(shown, [*shown, "more"])
    assert agrees(["a", "…", "z"], ["a", "b", "c", "z"])
    assert not agrees(["a", "…", "z"], ["a", "b", "c"])


def test_make_targets_and_extras_in_the_readme_exist() -> None:
    import tomllib

    readme = (ROOT / "README.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", readme, re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    pages = [readme, *(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))]
    named = {
        extra
        for page in pages
        for inside in re.findall(r"(?:acai|\.)\[([a-z0-9,]+)\]'", page)
        for extra in inside.split(",")
    }
    assert named
    assert named <= set(extras)
