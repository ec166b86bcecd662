"""Files up and down, over HTTP, in the store's own directory and through a real S3 server."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acai.client.client import Client
from acai.client.credentials import discover
from acai.client.transfer import hashing, sending, store
from acai.client.transfer.store import SharedStore
from acai.client.transfer.values import Progress
from acai.model.errors import (
    AlreadyExists,
    Conflict,
    CorruptData,
    FileNotFound,
    InvalidInput,
    PathConflict,
)
from servers.acai_up import RunningServer, acai_up, clean_environment
from servers.seaweed import SeaweedServer

MIB = 1024 * 1024
KINDS = ("shared", "http", "s3")


def client_of(running: RunningServer) -> Client:
    target = discover(environ={"ACAI_HOME": str(running.home)})
    return Client(running.url, target.token)


@pytest.fixture(scope="module")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("transfer") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def s3_server(
    tmp_path_factory: pytest.TempPathFactory, seaweed: SeaweedServer
) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("transfer-s3") / "home"
    storage = {**seaweed.environment, "ACAI_STORAGE": seaweed.url("transfer")}
    with acai_up(home, storage) as running:
        yield running


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest) -> Iterator[Client]:
    kind = request.param
    running = request.getfixturevalue("s3_server" if kind == "s3" else "local_server")
    with ExitStack() as stack:
        if kind != "shared":
            stack.enter_context(from_another_host())
        yield stack.enter_context(client_of(running))


@pytest.fixture
def http_lake(local_server: RunningServer) -> Iterator[Client]:
    with from_another_host(), client_of(local_server) as client:
        yield client


@pytest.fixture
def here(local_server: RunningServer) -> Iterator[Client]:
    with client_of(local_server) as client:
        yield client


@contextmanager
def from_another_host() -> Iterator[None]:
    """While it holds, this process cannot see the store's directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedStore, "find", staticmethod(lambda _offered, *, write: None))
        yield


@pytest.fixture
def below(request: pytest.FixtureRequest) -> str:
    """A lake directory of this test's own."""
    return f"/{abs(hash(request.node.nodeid)):x}/"


def tree(root: Path, *, seed: int = 1) -> dict[str, bytes]:
    """A directory with all sorts of files; returns what it holds."""
    rng = random.Random(seed)
    content = {
        f"many/{number:03d}.bin": rng.randbytes(rng.randrange(3000)) for number in range(120)
    }
    content |= {
        "empty": b"",
        "deep/er/still/empty.txt": b"",
        "twin-a": b"the same %d" % seed,
        "deep/twin-b": b"the same %d" % seed,
        "név with spaces @ 100%:3": b"odd name %d" % seed,
        "large.bin": rng.randbytes(9 * MIB),
        "large-twin.bin": b"",
        "medium.csv": rng.randbytes(3 * MIB),
    }
    content["large-twin.bin"] = content["large.bin"]
    for name, data in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return content


def read_tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_there_and_back(lake: Client, below: str, tmp_path: Path) -> None:
    content = tree(tmp_path / "d", seed=hash(below))
    done = lake.upload(tmp_path / "d", below)
    distinct = sum(map(len, set(content.values())))  # the empty one counts for nothing
    assert (done.file_count, done.size) == (len(content), sum(map(len, content.values())))
    assert done.sent_bytes == distinct
    assert done.files is not None
    assert {file.version for file in done.files} == {1}
    again = lake.upload(tmp_path / "d", below)
    assert (again.sent_bytes, again.deduplicated_files) == (0, len(content))
    assert {file.version for file in again.files or ()} == {2}
    got = lake.download(below, tmp_path / "out")
    assert read_tree(tmp_path / "out" / below.strip("/")) == content
    assert got.file_count == len(content)
    second = lake.download(below, tmp_path / "out")
    assert (second.received_bytes, second.unchanged_files) == (0, len(content))
    assert lake.read_bytes(f"{below}medium.csv") == content["medium.csv"]
    assert lake.find_file(f"{below}medium.csv").content_type == "text/csv"
    with lake.open(f"{below}large.bin:1") as file:
        file.seek(5 * MIB + 17)
        assert file.read(1000) == content["large.bin"][5 * MIB + 17 :][:1000]


def test_parts_there_and_back(lake: Client, below: str, tmp_path: Path) -> None:
    """More than the 64 MiB that go in one piece, and no multiple of a part."""
    block = random.Random(below).randbytes(MIB)
    with (tmp_path / "huge").open("wb") as out:
        for number in range(70):
            out.write(number.to_bytes(4, "big") + block)
    before = hashing.hash_file(str(tmp_path / "huge"))
    lake.upload(tmp_path / "huge", below)
    lake.download(f"{below}huge", tmp_path / "back")
    assert hashing.hash_file(str(tmp_path / "back")) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_where_things_go(here: Client, below: str, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt", "sub/three.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def paths(*args: object) -> list[str]:
        made = here.upload(*args).files  # type: ignore[arg-type]
        return sorted(file.path.removeprefix(below) for file in made or ())

    one, two, sub = (tmp_path / name for name in ("one.txt", "two.txt", "sub"))
    assert paths(one, below) == ["one.txt"]
    assert paths(one, f"{below}renamed") == ["renamed"]
    assert paths({str(one): f"{below}x", str(two): f"{below}y/"}) == ["x", "y/two.txt"]
    assert paths([one, two], f"{below}many/") == ["many/one.txt", "many/two.txt"]
    assert paths(sub, f"{below}dir") == ["dir/three.txt"]
    assert paths([one, sub], f"{below}mixed/") == ["mixed/one.txt", "mixed/sub/three.txt"]
    assert paths([one, f"{sub}/"], f"{below}flat/") == ["flat/one.txt", "flat/three.txt"]
    with pytest.raises(InvalidInput, match="end it with '/'"):
        here.upload([one, two], f"{below}many")
    with pytest.raises(InvalidInput, match="both become"):
        here.upload([one, one.parent / "sub" / ".." / "one.txt"], f"{below}many/")
    with pytest.raises(InvalidInput, match="No such file"):
        here.upload(tmp_path / "missing", below)
    with pytest.raises(InvalidInput, match="version or a set"):
        here.upload(one, f"{below}one.txt:2")
    (tmp_path / "hollow" / "er").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="no file to upload"):
        here.upload(tmp_path / "hollow", below)


def test_where_downloads_go(here: Client, below: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    here.upload(tmp_path / "a.txt", f"{below}d/a.txt")
    inner = below.strip("/")
    here.download(f"{below}d/", tmp_path / "o1")
    assert (tmp_path / "o1" / inner / "d" / "a.txt").read_text() == "a"
    here.download(f"{below}d/a.txt", f"{tmp_path}/o2/")
    assert (tmp_path / "o2" / inner / "d" / "a.txt").read_text() == "a"
    here.download(f"{below}d/a.txt", tmp_path / "o2")
    here.download(f"{below}d/a.txt:1", tmp_path / "named")
    assert (tmp_path / "named").read_text() == "a"
    with pytest.raises(FileNotFound):
        here.download(f"{below}nothing/", tmp_path / "o3")
    assert not (tmp_path / "o3").exists()


def test_nothing_is_overwritten_unasked(lake: Client, below: str, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / "d").mkdir(exist_ok=True)
        (tmp_path / "d" / name).write_text(name)
    lake.upload(tmp_path / "d", below)
    out = tmp_path / "out" / below.strip("/")
    out.mkdir(parents=True)
    (out / "a").write_text("a")
    (out / "b").write_text("my own work")
    (out / "c").symlink_to(out / "a")
    with pytest.raises(AlreadyExists, match="--force") as refused:
        lake.download(below, tmp_path / "out")
    assert refused.value.detail["paths"] == [str(out / "b"), str(out / "c")]
    assert (out / "b").read_text() == "my own work"
    assert (out / "c").is_symlink()
    lake.download(below, tmp_path / "out", force=True)
    assert read_tree(out) == {"a": b"a", "b": b"b", "c": b"c"}
    assert not (out / "c").is_symlink()
    (out / "a").unlink()
    (out / "a").mkdir()
    with pytest.raises(Conflict, match="directory here"):
        lake.download(below, tmp_path / "out", force=True)


def test_links_in_the_target_are_not_followed(here: Client, below: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f")
    here.upload(tmp_path / "f", f"{below}d/f")
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out" / below.strip("/")
    out.mkdir(parents=True)
    (out / "d").symlink_to(outside)
    with pytest.raises(Conflict, match="is a link"):
        here.download(below, tmp_path / "out", force=True)
    assert list(outside.iterdir()) == []


def test_odd_things_are_left_out_and_told(here: Client, below: str, tmp_path: Path) -> None:
    root = tmp_path / "d"
    (root / "real").mkdir(parents=True)
    (root / "real" / "f").write_text("f")
    (root / "link-to-file").symlink_to(root / "real" / "f")
    (root / "link-to-directory").symlink_to(root / "real")
    (root / "real" / "loop").symlink_to(root)
    (root / "dangling").symlink_to(root / "nowhere")
    (root / "hollow").mkdir()
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        notes: list[str] = []
        done = here.upload(root, below, on_note=notes.append)
    assert sorted(file.path.removeprefix(below) for file in done.files or ()) == [
        "link-to-directory/f",
        "link-to-file",
        "real/f",
    ]
    reasons = {Path(one.path).name: one.reason for one in done.left_out}
    assert reasons["pipe"] == "it is a pipe"
    assert reasons["socket"] == "it is a socket"
    assert "leads nowhere" in reasons["dangling"]
    assert "lies in" in reasons["loop"]
    assert any("pipe" in note for note in notes)
    assert any("1 empty director" in note for note in notes)


def test_what_cannot_be_read_stops_all_or_is_left_out(
    here: Client, below: str, tmp_path: Path
) -> None:
    root = tmp_path / "d"
    root.mkdir()
    (root / "good").write_text("good")
    (root / "bad").symlink_to("/proc/self/mem")  # opens, and fails to be read
    (root / "worse\n").write_text("a line break")
    with open(os.fsencode(root) + b"/caf\xe9", "wb") as out:
        out.write(b"latin-1")
    with pytest.raises(InvalidInput) as refused:
        here.upload(root, below)
    named = {Path(one["path"]).name for one in refused.value.detail["files"]}
    assert named == {"bad", "worse\n", "caf\\xe9"}
    assert "--skip-unreadable" in refused.value.message
    with pytest.raises(FileNotFound):
        next(here.list_files(below))
    done = here.upload(root, below, skip_unreadable=True)
    assert [file.path for file in done.files or ()] == [f"{below}good"]
    assert len(done.left_out) == 3


def test_small_file_that_changes_is_read_again(
    here: Client, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"before")
    read = os.read
    turns = iter(range(1000))

    def read_then_change(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if next(turns) < changes:
            path.write_bytes(data + b"+")
        return data

    changes = 1
    monkeypatch.setattr(hashing.os, "read", read_then_change)
    here.upload(path, f"{below}f")
    changes = 1000
    with pytest.raises(InvalidInput, match="keeps changing"):
        here.upload(path, f"{below}g")
    monkeypatch.undo()
    assert here.read_bytes(f"{below}f") == b"before+"


def test_large_file_that_changes_is_sent_again(
    lake: Client, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a" * (9 * MIB) + below.encode())
    send = sending.Sender.file
    turns: list[int] = []

    def change_then_send(self: sending.Sender, read: hashing.Read) -> None:
        turns.append(1)
        if len(turns) == 1:
            path.write_bytes(b"b" * (9 * MIB) + below.encode())
        send(self, read)

    monkeypatch.setattr(sending.Sender, "file", change_then_send)
    lake.upload(path, f"{below}f")
    assert len(turns) == 2
    assert lake.read_bytes(f"{below}f") == b"b" * (9 * MIB) + below.encode()


def test_damaged_object_is_noticed(
    lake: Client,
    below: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    local_server: RunningServer,
) -> None:
    if "s3" in request.node.name:
        pytest.skip("the bytes of the S3 server are not ours to damage")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "small").write_bytes(b"small " + below.encode())
    (tmp_path / "d" / "large").write_bytes(b"large " * 2 * MIB + below.encode())
    lake.upload(tmp_path / "d", below)
    for path in (local_server.home / "objects").rglob("*"):
        if path.is_file() and ".acai" not in path.parts and below.encode() in path.read_bytes():
            path.chmod(0o600)
            path.write_bytes(path.read_bytes().replace(below.encode(), b"!" * len(below)))
    for name in ("small", "large"):
        with pytest.raises(CorruptData, match=name):
            lake.download(f"{below}{name}", tmp_path / "back")
        assert not (tmp_path / "back").exists()
        with pytest.raises(CorruptData):
            lake.read_bytes(f"{below}{name}")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".acai")]


def test_expired_urls_are_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    with (
        acai_up(tmp_path / "home", {"ACAI_URL_LIFETIME": "1s"}) as running,
        from_another_host(),
        client_of(running) as client,
    ):
        slow = _slowed_once(monkeypatch, store.StoreCalls, "put")
        client.upload(tmp_path / "f", "/f")
        assert slow == ["slept"]
        slow = _slowed_once(monkeypatch, store.StoreCalls, "get")
        client.download("/f", tmp_path / "back")
        assert slow == ["slept"]
    assert (tmp_path / "back").read_bytes() == b"x" * 100


def _slowed_once(patch: pytest.MonkeyPatch, kind: type, name: str) -> list[str]:
    act: Callable[..., object] = getattr(kind, name)
    told: list[str] = []

    def slowed(*args: object, **options: object) -> object:
        if not told:
            told.append("slept")
            time.sleep(2.2)
        return act(*args, **options)

    patch.setattr(kind, name, slowed)
    return told


DYING = """
import os, signal, sys
from importlib import import_module
from acai.client.client import Client
from acai.client.transfer.store import SharedStore

SharedStore.find = staticmethod(lambda offered, *, write: None)
verb, one, other, module, kind, name, turns = sys.argv[1:]
kind = getattr(import_module(f"acai.client.transfer.{module}"), kind)
act, left = getattr(kind, name), int(turns)

def act_and_die(*args, **options):
    global left
    result = act(*args, **options)
    left -= 1
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(kind, name, act_and_die)
client = Client()
(client.upload if verb == "upload" else client.download)(one, other)
"""


def die(
    running: RunningServer, verb: str, one: object, other: object, after: str, turns: int
) -> None:
    """Run a transfer that is killed once it has done something so many times."""
    done = subprocess.run(
        [sys.executable, "-c", DYING, verb, str(one), str(other), *after.split("."), str(turns)],
        env=clean_environment(running.home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_killed_upload_goes_on(
    request: pytest.FixtureRequest,
    kind: str,
    below: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = request.getfixturevalue(f"{kind}_server")
    monkeypatch.setenv("ACAI_HOME", str(running.home))
    rng = random.Random(below)
    (tmp_path / "d").mkdir()
    for name in "abcdef":
        (tmp_path / "d" / name).write_bytes(rng.randbytes(9 * MIB))
    die(running, "upload", tmp_path / "d", below, "calls.TransferCalls.complete", 3)
    with from_another_host(), client_of(running) as lake:
        with pytest.raises(FileNotFound):
            next(lake.list_files(below))
        done = lake.upload(tmp_path / "d", below)
        assert done.resumed
        assert (done.file_count, done.size) == (6, 54 * MIB)
        assert done.sent_bytes <= 27 * MIB
        assert {file.version for file in done.files or ()} == {1}
        lake.download(below, tmp_path / "out")
    assert read_tree(tmp_path / "out" / below.strip("/")) == read_tree(tmp_path / "d")


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_killed_upload_in_parts_goes_on(
    request: pytest.FixtureRequest,
    kind: str,
    below: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = request.getfixturevalue(f"{kind}_server")
    monkeypatch.setenv("ACAI_HOME", str(running.home))
    huge = tmp_path / "huge"
    huge.write_bytes(random.Random(below).randbytes(MIB) * 130 + b"end")
    die(running, "upload", huge, below, "store.StoreCalls.put", 2)
    with from_another_host(), client_of(running) as lake:
        done = lake.upload(huge, below)
        assert done.resumed
        assert done.sent_bytes <= done.size - 32 * MIB  # the other part may be the short last one
        lake.download(f"{below}huge", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == huge.read_bytes()


def test_killed_download_goes_on(
    local_server: RunningServer, http_lake: Client, below: str, tmp_path: Path
) -> None:
    rng = random.Random(below)
    (tmp_path / "huge").write_bytes(rng.randbytes(MIB) * 130 + b"end")
    http_lake.upload(tmp_path / "huge", below)
    out = tmp_path / "out"
    die(local_server, "download", f"{below}huge", out, "segmented.SegmentedFile.fetch", 2)
    assert not out.exists()
    done = http_lake.download(f"{below}huge", out)
    assert done.received_bytes <= done.size - 32 * MIB
    assert out.read_bytes() == (tmp_path / "huge").read_bytes()


def test_wrong_rest_of_a_download_is_dropped(
    local_server: RunningServer, http_lake: Client, below: str, tmp_path: Path
) -> None:
    (tmp_path / "huge").write_bytes(random.Random(below).randbytes(MIB) * 70)
    http_lake.upload(tmp_path / "huge", below)
    out = tmp_path / "out"
    die(local_server, "download", f"{below}huge", out, "segmented.SegmentedFile.fetch", 2)
    (part,) = tmp_path.glob(".acai-*.part")
    marks = part.read_bytes()[70 * MIB :]
    first = marks.index(1)
    with part.open("r+b") as file:
        file.seek(first * 32 * MIB)
        file.write(b"wrong")
    http_lake.download(f"{below}huge", out)
    assert out.read_bytes() == (tmp_path / "huge").read_bytes()


def test_server_that_is_killed_and_restarted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "d").mkdir()
    rng = random.Random(4)
    for number in range(12):
        (tmp_path / "d" / f"{number}").write_bytes(rng.randbytes(9 * MIB))
    notes: list[str] = []
    with ExitStack() as second, acai_up(home) as running, from_another_host():
        killed = threading.Event()

        def kill(seen: Progress) -> None:
            if seen.bytes > 30 * MIB and not killed.is_set():
                killed.set()
                running.kill()
                second.enter_context(acai_up(home, port=running.port))

        with client_of(running) as lake:
            done = lake.upload(tmp_path / "d", "/d/", on_progress=kill, on_note=notes.append)
            assert killed.is_set()
            assert done.file_count == 12
            assert {file.version for file in done.files or ()} == {1}
            lake.download("/d/", tmp_path / "out")
    assert read_tree(tmp_path / "out" / "d") == read_tree(tmp_path / "d")


def test_a_hundred_writers_of_one_path(here: Client, below: str, tmp_path: Path) -> None:
    def write(number: int) -> int:
        path = tmp_path / f"{number}"
        path.write_text(f"{below} {number}")
        (made,) = here.upload(path, f"{below}one").files or ()
        return made.version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(write, range(100)))
    assert sorted(versions) == list(range(1, 101))
    for number in (0, 50, 99):
        assert here.read_bytes(f"{below}one:{versions[number]}") == f"{below} {number}".encode()


def test_two_identical_puts_at_once(lake: Client, below: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for number in range(300):
        (tmp_path / "d" / f"{number}").write_text(f"{below}{number}")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: lake.upload(tmp_path / "d", below), range(2)))
    assert done[0].id != done[1].id
    versions = sorted({file.version for one in done for file in one.files or ()})
    assert versions == [1, 2]
    assert len(list(lake.list_files(below))) == 300


def test_file_where_a_directory_is(here: Client, below: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f")
    here.upload(tmp_path / "f", f"{below}a/b")
    with pytest.raises(PathConflict, match="file and a directory"):
        here.upload(tmp_path / "f", f"{below}a")


def test_progress_ends_with_everything(lake: Client, below: str, tmp_path: Path) -> None:
    content = tree(tmp_path / "d", seed=7)
    whole = (len(content), sum(map(len, content.values())))
    seen: list[Progress] = []
    lake.upload(tmp_path / "d", below, on_progress=seen.append)
    assert (seen[-1].files, seen[-1].bytes) == whole
    lake.download(below, tmp_path / "out", on_progress=seen.append)
    last = seen[-1]
    assert (last.files, last.bytes) == (last.total_files, last.total_bytes) == whole
