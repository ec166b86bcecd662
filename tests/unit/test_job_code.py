"""Which local files are a job's code, and what it is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acai.client.code import code_name, collect
from acai.client.ignoring import DEFAULTS, Ignored
from acai.model.errors import InvalidInput, InvalidPath

PATTERNS = {
    ("*.pyc",): (["a.pyc", "x/y/a.pyc"], ["a.py", "pyc"]),
    ("/data",): (["data"], ["x/data", "data2"]),
    ("docs/*.md",): (["docs/a.md"], ["docs/x/a.md", "x/docs/a.md"]),
    ("docs/**/*.md",): (["docs/a.md", "docs/x/y/a.md"], ["a.md"]),
    ("**/logs",): (["logs", "a/b/logs"], ["logsx"]),
    ("a/**",): (["a/b", "a/b/c"], ["a", "b/a/c"]),
    ("*", "!keep.py"): (["x", "y/z"], ["keep.py", "y/keep.py"]),
    ("!x", "x"): (["x"], []),
    ("file?.[ch]",): (["file1.c", "file2.h"], ["file.c", "file1.o"]),
    ("[!a]x",): (["bx"], ["ax"]),
    (r"\#real", "# comment", "", "   "): (["#real"], [" comment", "real"]),
    (r"\!x",): (["!x"], ["x"]),
    ("[^a]x",): (["bx"], ["ax"]),
    ("[z-a]x", "[!]", "y"): (["y"], ["ax", "zx", "[!]"]),
    ("[",): (["["], ["x"]),
    ("a.b+(c",): (["a.b+(c"], ["aXb+(c"]),
}


@pytest.mark.parametrize("patterns", PATTERNS, ids=repr)
def test_patterns(patterns: tuple[str, ...]) -> None:
    ignored = Ignored(patterns)
    skipped, kept = PATTERNS[patterns]
    for path in skipped:
        assert ignored.skips(path, is_directory=False), path
    for path in kept:
        assert not ignored.skips(path, is_directory=False), path


def test_patterns_for_directories_only() -> None:
    ignored = Ignored(["build/"])
    assert ignored.skips("x/build", is_directory=True)
    assert not ignored.skips("x/build", is_directory=False)
    assert Ignored(DEFAULTS).skips("a/__pycache__", is_directory=True)


def _make(root: Path, *files: str) -> None:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)


def test_a_directory_of_code(tmp_path: Path) -> None:
    _make(
        tmp_path,
        "train.py",
        "lib/a.py",
        "lib/__pycache__/a.pyc",
        ".git/config",
        ".venv/bin/python",
        "data/big.bin",
        "best.ckpt",
        "other.ckpt",
    )
    (tmp_path / ".acaiignore").write_text("data/\n*.ckpt\n!best.ckpt\n")
    (tmp_path / "lib" / "up").symlink_to(tmp_path)
    (tmp_path / "linked.py").symlink_to(tmp_path / "train.py")
    os.mkfifo(tmp_path / "pipe")
    assert [below for below, _ in collect(tmp_path)] == [
        "best.ckpt",
        "linked.py",
        "train.py",
        "lib/a.py",
    ]
    assert collect(tmp_path / "train.py") == [("train.py", tmp_path / "train.py")]


def test_no_code(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no code in"):
        collect(tmp_path)
    _make(tmp_path, ".git/config")
    with pytest.raises(InvalidInput, match="there is no code in"):
        collect(tmp_path)
    _make(tmp_path, "bad\nname.py")
    with pytest.raises(InvalidPath):
        collect(tmp_path)


def test_too_much_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acai.client.code.MOST_FILES", 2)
    _make(tmp_path, "a", "b", "c")
    with pytest.raises(InvalidInput, match="more than 2 files"):
        collect(tmp_path)


def test_names_of_code(tmp_path: Path) -> None:
    (tmp_path / "My Code (2)").mkdir()
    (tmp_path / "train.py").write_text("")
    assert code_name(None, tmp_path / "My Code (2)") == "My-Code-2"
    assert code_name(None, tmp_path / "train.py") == "train"
    assert code_name("train mnist", tmp_path) == "train-mnist"
    assert code_name("…", tmp_path) == "code"
    assert len(code_name("x" * 500, tmp_path)) == 100
