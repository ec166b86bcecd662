"""What of an output directory is sent: files, and links that stay in the working directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acai.agent.output import find_output
from acai.agent.workdir import output_directory
from acai.client.transfer.sources import Source
from acai.model.errors import InvalidInput


def test_a_plain_directory_is_sent_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "deep").mkdir(parents=True)
    (out / "deep" / "file").touch()
    (tmp_path / "checkpoint").touch()
    (out / "link").symlink_to("../checkpoint")
    found = find_output(out, tmp_path, "/model/")
    assert found.sources == (Source(str(out), "/model/", True),)
    assert found.left_out == ()


def test_links_that_lead_out_are_left_out(tmp_path: Path) -> None:
    work = tmp_path / "work"
    out = work / "out"
    (out / "deep").mkdir(parents=True)
    (out / "deep" / "file").touch()
    (out / "passwords").symlink_to("/etc/passwd")
    (out / "root").symlink_to("/")
    (out / "up").symlink_to("..")
    found = find_output(out, work, "/model/")
    assert Source(str(out / "deep" / "file"), "/model/deep/file", False) in found.sources
    assert sorted(found.left_out) == ["passwords", "root"]
    assert all(str(tmp_path) in source.local for source in found.sources)


@pytest.mark.parametrize("kind", ["missing", "empty", "pipe"])
def test_nothing_is_nothing(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind != "missing":
        (out / "deep").mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(out / "pipe")
    assert find_output(out, tmp_path, "/model/").sources == ()


def test_a_directory_that_became_a_way_out_is_refused(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "out").symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="link out of the working directory"):
        find_output(work / "out", work, "/model/")


@pytest.mark.parametrize("path", ["/tmp/out", "../out", "a/../../out", ".", "", "./"])
def test_an_output_path_lies_below_the_working_directory(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidInput, match="below the working directory"):
        output_directory(tmp_path, path)


def test_an_output_path_may_be_deep(tmp_path: Path) -> None:
    assert output_directory(tmp_path, "./a/b/") == tmp_path / "a" / "b"
