"""Walking through local directories, and where things go."""

from __future__ import annotations

from pathlib import Path

import pytest

from acai.client.transfer import scan as scanning
from acai.client.transfer.scan import Scan, count
from acai.client.transfer.sources import Source, plan_sources
from acai.model.errors import InvalidInput, InvalidReference


def walk(*sources: Source) -> tuple[list[tuple[str, int]], dict[str, str], dict[str, str]]:
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    found = Scan(sources, skip=skipped.__setitem__, fail=failed.__setitem__).files()
    return [(file.remote, file.size) for file in found], skipped, failed


def test_order_is_by_name_in_each_directory(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a/z", "c", "B"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found, skipped, failed = walk(Source(str(tmp_path), "/d/", True))
    assert [path for path, _ in found] == ["/d/B", "/d/c", "/d/a/z", "/d/b/1", "/d/b/2"]
    assert not skipped and not failed
    assert count([Source(str(tmp_path), "/d/", True)], lambda: False) == (5, 11)
    assert count([Source(str(tmp_path), "/d/", True)], lambda: True) is None


def test_directories_deeper_than_the_stack(tmp_path: Path) -> None:
    made = [tmp_path]
    for _ in range(1200):
        made.append(made[-1] / "d")
        made[-1].mkdir()
    (made[-1] / "f").write_text("f")
    found, _, failed = walk(Source(str(tmp_path), "/", True))
    assert [path.count("/") for path, _ in found] == [1201]
    assert not failed
    (made[-1] / "f").unlink()
    for directory in reversed(made[1:]):  # pytest's own cleaning recurses
        directory.rmdir()


def test_rest_of_a_download_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".acai-0123abcd.part").write_text("half")
    (tmp_path / ".acai-notes.part2").write_text("kept")
    found, skipped, _ = walk(Source(str(tmp_path), "/", True))
    assert [path for path, _ in found] == ["/.acai-notes.part2"]
    assert list(skipped) == [str(tmp_path / ".acai-0123abcd.part")]


def test_name_that_the_lake_refuses(tmp_path: Path) -> None:
    (tmp_path / "tab\there").write_text("x")
    (tmp_path / "dir\x7f").mkdir()
    (tmp_path / "dir\x7f" / "f").write_text("x")
    found, _, failed = walk(Source(str(tmp_path), "/", True))
    assert found == []
    assert len(failed) == 2
    assert all("U+00" in reason for reason in failed.values())


def test_two_sources_that_meet(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same").write_text(name)
    found, _, failed = walk(
        Source(str(tmp_path / "one"), "/d/", True), Source(str(tmp_path / "two"), "/d/", True)
    )
    assert [path for path, _ in found] == ["/d/same"]
    assert failed == {str(tmp_path / "two" / "same"): "another file also becomes /d/same"}


def test_directory_of_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_BLOCK", 7)
    for number in range(30):
        (tmp_path / f"{number}").write_text("")
    found, _, _ = walk(Source(str(tmp_path), "/", True))
    assert len(found) == len(set(found)) == 30


def test_plan_refuses_what_it_cannot_mean(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f")
    for locals_, remote, expected in (
        ([], "/d/", InvalidInput),
        ([tmp_path / "f"], "d/", InvalidReference),
        ([tmp_path / "f"], "/a/../b", InvalidInput),
        ([tmp_path / "f"], "/a@set", InvalidInput),
        ([Path("/dev/null")], "/a", InvalidInput),
    ):
        try:
            plan_sources(locals_, remote)
        except expected:
            continue
        raise AssertionError((locals_, remote))
