"""What people see: tables, fields, and JSON for programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acai.cli import output
from acai.cli.output import cut, print_fields, print_json, print_table, visible, width
from acai.model.identity import Role


def test_json_holds_plain_types_only(capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    print_json({"t": moment, "p": Path("/x"), "r": Role.ADMIN, 5: ({"ü"},), "n": None, "f": 1.5})
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "t": "2026-01-01T12:00:00Z",
        "p": "/x",
        "r": "admin",
        "5": [["ü"]],
        "n": None,
        "f": 1.5,
    }


def test_names_never_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2J\rb\nc\u202e"
    print_table(("name",), [(evil,)])
    print_fields([("name", evil)])
    shown = capsys.readouterr().out
    assert not any(char in shown for char in "\x1b\r\u202e")
    assert shown.count("\n") == 3
    assert visible("plain ünï") == "plain ünï"


def test_columns_line_up_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "size"), [("日本", 1), ("e\u0301te", 22), (None, 333)], right=("size",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "NAME  SIZE"
    assert {width(line) for line in lines} == {10}


def test_cutting_counts_columns() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("日本語", 4) == "日…"
    assert cut("abcd", 4) == "abcd"


def test_an_empty_table_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", "b"), [])
    assert capsys.readouterr().out == "A  B\n"


PROGRAM = """
from acai.cli.output import print_table
print_table(("name", "note"), [("x" * 30, "y" * 200)])
"""


def on_a_terminal(**variables: str) -> str:
    """What the program prints when its output is a real terminal of 60 columns."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", **variables}
    if "NO_COLOR" not in variables:
        environment.pop("NO_COLOR", None)
    subprocess.run(
        [sys.executable, "-c", PROGRAM], stdout=follower, env=environment, check=True, timeout=30
    )
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    return shown


def test_on_a_terminal_tables_fit_and_headers_are_bold() -> None:
    shown = on_a_terminal()
    assert "\x1b[1m" in shown
    assert "…" in shown
    assert all(width(visible(line)) <= 80 for line in shown.splitlines()[1:])


def test_no_color_is_honoured() -> None:
    assert "\x1b" not in on_a_terminal(NO_COLOR="1")


def test_elsewhere_nothing_is_cut_or_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("note",), [("y" * 500,)])
    shown = capsys.readouterr().out
    assert "y" * 500 in shown
    assert "\x1b" not in shown
    assert output.use_color() is False
