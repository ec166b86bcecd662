"""`acai file` and `acai set get` as people run them."""

from __future__ import annotations

import os
import pty
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.shell import Shell

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("files") / "home") as server:
        yield server


@pytest.fixture
def acai(running: RunningServer) -> Shell:
    return Shell(home=running.home)


def test_put_list_read_and_get(acai: Shell, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "train.json").write_text('{"n": 1}')
    (data / "sub" / "we@rd 5%.bin").write_bytes(bytes(range(256)))
    put = acai("file", "put", str(data), "/first/")
    assert put.code == 0, put.err
    assert sorted(put.out.splitlines()) == ["/first/sub/we%40rd 5%25.bin:1", "/first/train.json:1"]
    assert acai("file", "ls", "/first/").out.splitlines() == ["/first/sub/", "/first/train.json"]
    assert "/first/" in acai("file", "ls").out.splitlines()
    long = acai("file", "ls", "-l", "/first").out.splitlines()
    assert long[0].split() == ["/first/sub/"]
    assert long[1].split()[0] == "1"
    assert long[1].endswith("/first/train.json")
    assert acai("file", "ls", "/first/train.json").out == "/first/train.json\n"
    for reference in put.out.splitlines():  # what is printed can be pasted back
        assert acai("file", "versions", reference.rpartition(":")[0]).code == 0
        assert acai("file", "get", reference, str(tmp_path / "out")).code == 0
        (tmp_path / "out").unlink()
    binary = subprocess.run(
        [str(ACAI), "file", "cat", "/first/sub/we%40rd 5%25.bin"],
        env=clean_environment(acai.home),
        capture_output=True,
        check=True,
    )
    assert binary.stdout == bytes(range(256))
    got = acai("file", "get", "/first/", f"{tmp_path}/mirror/")
    assert got.code == 0, got.err
    mirror = tmp_path / "mirror" / "first"
    assert (mirror / "sub" / "we@rd 5%.bin").read_bytes() == bytes(range(256))
    assert (mirror / "train.json").read_text() == '{"n": 1}'


def test_versions_removal_and_json(acai: Shell, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("one", "two"):
        path.write_text(text)
        done = acai("file", "put", str(path), "/v/a.txt", "--json")
    assert done.json["file_count"] == 1
    assert done.json["files"][0]["version"] == 2
    assert done.err == ""
    assert [one["version"] for one in acai("file", "versions", "/v/a.txt", "--json").json] == [2, 1]
    listed = acai("file", "ls", "/v/", "--json").json
    assert [(one["kind"], one["path"], one["version"]) for one in listed] == [
        ("file", "/v/a.txt", 2)
    ]
    assert acai("file", "cat", "/v/a.txt:1").out == "one"
    assert acai("file", "cat", "/v/a.txt", "--json").json["size"] == 3
    assert "add -y" in acai("file", "rm", "/v/a.txt").complaint(2)
    assert acai("file", "rm", "/v/a.txt", "-y").code == 0
    assert "no directory /v/" in acai("file", "ls", "/v/").complaint()
    assert "was removed" in acai("file", "cat", "/v/a.txt").complaint()
    assert acai("file", "cat", "/v/a.txt:2").out == "two"
    path.write_text("three")
    assert acai("file", "put", str(path), "/v/").out == "/v/a.txt:3\n"


def test_get_refuses_and_forces(acai: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("lake")
    acai("file", "put", str(tmp_path / "f"), "/refuse/f")
    (tmp_path / "f").write_text("mine")
    said = acai("file", "get", "/refuse/f", str(tmp_path / "f")).complaint()
    assert str(tmp_path / "f") in said
    assert "--force" in said
    assert (tmp_path / "f").read_text() == "mine"
    done = acai("file", "get", "/refuse/f", str(tmp_path / "f"), "--force", "--json")
    assert done.json["file_count"] == 1
    assert (tmp_path / "f").read_text() == "lake"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("put", "HERE/nothing", "/x/"), "No such file"),
        (("put", "HERE", "HERE/f", "/x"), "end it with '/'"),
        (("put", "HERE/f", "x"), "not absolute"),
        (("get", "/none", "HERE/o"), "there is no file /none"),
        (("get", "/none/", "HERE/o"), "/none/"),
        (("get", "@none", "HERE/o"), "none"),
        (("cat", "/"), "names a directory"),
        (("ls", "/a//b/"), "empty component"),
        (("rm", "/", "-y"), "whole tree"),
    ],
)
def test_bad_words(acai: Shell, tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    (tmp_path / "f").write_text("f")
    given = [word.replace("HERE", str(tmp_path)) for word in words]
    assert expected in acai("file", *given).complaint()
    assert not (tmp_path / "o").exists()


def test_set_get(acai: Shell, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        acai("file", "put", str(tmp_path / name), f"/s/{name}")
    made = acai("set", "create", "Both", "/s/")
    assert made.code == 0, made.err
    (tmp_path / "a").write_text("later")
    acai("file", "put", str(tmp_path / "a"), "/s/a")
    got = acai("set", "get", "Both:1", f"{tmp_path}/out")
    assert got.code == 0, got.err
    assert (tmp_path / "out" / "s" / "a").read_text() == "a"
    assert acai("file", "ls", "/s/@Both").out.splitlines() == ["/s/a", "/s/b"]
    assert acai("file", "cat", "/s/a@Both").out == "a"
    acai("file", "get", "/s/b@Both", f"{tmp_path}/b2")
    assert (tmp_path / "b2").read_text() == "b"


@pytest.mark.slow
def test_interrupted_put_goes_on(acai: Shell, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for number in range(40):
        (data / f"{number}").write_bytes(random.Random(number).randbytes(9 * MIB))
    words = [str(ACAI), "file", "put", str(data), "/interrupted/"]
    process = subprocess.Popen(
        words, env=clean_environment(acai.home), stderr=subprocess.PIPE, text=True
    )
    objects = acai.home / "objects"
    before = _count(objects)
    deadline = time.monotonic() + 30
    while _count(objects) < before + 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "run the same command again" in said
    assert "Traceback" not in said
    done = acai("file", "put", str(data), "/interrupted/", "--json").json
    assert done["resumed"]
    assert done["sent_bytes"] < done["size"]
    assert {one["version"] for one in done["files"]} == {1}


def _count(objects: Path) -> int:
    return sum(1 for path in objects.rglob("*") if path.is_file() and ".acai" not in path.parts)


def test_progress_is_for_terminals_only(acai: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(random.Random(0).randbytes(20 * MIB))
    words = ["file", "put", str(tmp_path / "f"), "/progress/"]
    assert acai(*words).err == ""
    (tmp_path / "f").write_bytes(random.Random(1).randbytes(20 * MIB))
    shown = _on_terminal(acai, words)
    assert "uploading" in shown
    assert "MB" in shown
    (tmp_path / "f").write_bytes(random.Random(2).randbytes(MIB))
    assert _on_terminal(acai, [*words, "--quiet"]) == ""
    assert "uploading" not in _on_terminal(acai, [*words, "--json"])


def _on_terminal(acai: Shell, words: list[str]) -> str:
    """What a command writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(ACAI), *words],
        env=clean_environment(acai.home, TERM="xterm", COLUMNS="100"),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:  # the other end is gone
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=30) == 0
    return seen.decode()


def test_broken_pipe_is_quiet(acai: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"line\n" * 4 * MIB)
    acai("file", "put", str(tmp_path / "f"), "/pipe/f")
    done = subprocess.run(
        ["sh", "-c", f"{ACAI} file cat /pipe/f | head -1"],
        env=clean_environment(acai.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "line\n"
    assert done.stderr == ""
