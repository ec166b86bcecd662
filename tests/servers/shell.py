"""`acai` as a person runs it: a process with a home, its output, its exit code."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from servers.acai_up import ACAI, clean_environment


@dataclass(frozen=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output; anything beside it is an error."""
        return json.loads(self.out)

    def complaint(self, code: int = 1) -> str:
        """The one line that says what was wrong."""
        assert self.code == code, self
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: "), self.err
        assert "Traceback" not in self.err
        return lines[0].removeprefix("error: ")


@dataclass(frozen=True, kw_only=True)
class Shell:
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str, stdin: str = "", **variables: str) -> Ran:
        done = subprocess.run(
            [str(ACAI), *words],
            env=clean_environment(self.home, **self.variables, **variables),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


def listing(directory: Path) -> dict[str, bytes | None]:
    """Every file below a directory with its content, to see whether anything changed."""
    if not directory.is_dir():
        return {"": directory.read_bytes() if directory.exists() else None}
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }
