"""Threads, patience, hashing in parts, segments out of order: the transfer's small machines."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acai.client.transfer import segmented
from acai.client.transfer.content_types import content_type
from acai.client.transfer.hashing import Read, Unreadable, hash_large, read_small
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.client.transfer.resume import resume_key, sole_use
from acai.client.transfer.scan import Found
from acai.client.transfer.segmented import SegmentedFile
from acai.client.transfer.sources import Source
from acai.client.transfer.values import Progress
from acai.client.transfer.workers import Stopped, Workers
from acai.model.errors import ServerUnreachable, StorageFull, Unavailable


def test_workers_run_at_once_but_no_more_than_allowed() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return number

    with Workers("test", 3) as workers:
        futures = [workers.submit(work, number) for number in range(20)]
    assert [future.result() for future in futures] == list(range(20))
    assert most == 3


def test_workers_start_only_the_threads_they_need() -> None:
    with Workers("lazy", 8) as workers:
        for _ in range(5):
            workers.submit(time.sleep, 0).result()
            time.sleep(0.02)
        started = [each for each in threading.enumerate() if each.name.startswith("acai-lazy")]
        assert len(started) == 1


def test_workers_drop_what_has_not_begun_when_the_block_fails() -> None:
    begun = threading.Event()

    def slow() -> None:
        begun.set()
        time.sleep(0.2)

    with pytest.raises(ZeroDivisionError), Workers("test", 1) as workers:
        first = workers.submit(slow)
        second = workers.submit(slow)
        begun.wait(5)
        raise ZeroDivisionError
    first.result(5)
    deadline = time.monotonic() + 5
    while not second.cancelled() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert second.cancelled()


def test_patience_waits_and_tells_once() -> None:
    notes: list[str] = []
    failures = iter([Unavailable("away"), ServerUnreachable("gone"), None])

    def act() -> str:
        failure = next(failures)
        if failure is not None:
            raise failure
        return "done"

    assert Patience(5, note=notes.append).run(act) == "done"
    assert len(notes) == 1


def test_patience_ends() -> None:
    def act() -> None:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        Patience(0, note=None).run(act)
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        Patience(60, note=None, stop=stop).run(act)


def test_patience_does_not_wait_for_a_full_disk() -> None:
    def act() -> None:
        raise StorageFull("full")

    with pytest.raises(StorageFull):
        Patience(60, note=None).run(act)


def test_hash_of_parts_and_whole(tmp_path: Path) -> None:
    data = random.Random(3).randbytes(5_000_001)
    (tmp_path / "f").write_bytes(data)
    found = Found(str(tmp_path / "f"), "/f", len(data))
    part = 1_700_000  # no multiple of what is read at once
    read = hash_large(found, part, threading.Event())
    assert isinstance(read, Read)
    assert read.sha256 == hashlib.sha256(data).hexdigest()
    pieces = [data[start : start + part] for start in range(0, len(data), part)]
    assert list(read.parts) == [hashlib.sha256(piece).hexdigest() for piece in pieces]
    missing = hash_large(Found(str(tmp_path / "g"), "/g", 1), None, threading.Event())
    assert missing == Unreadable(Found(str(tmp_path / "g"), "/g", 1), "it vanished meanwhile")


def test_file_that_grew_large_is_not_held(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1000)
    (read,) = read_small([Found(str(tmp_path / "f"), "/f", 10)], 500, threading.Event())
    assert isinstance(read, Read)
    assert (read.size, read.data) == (1000, None)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(segmented, "SEGMENT", 100)
    return 100


def _file(path: Path, size: int, meter: Meter | None = None) -> SegmentedFile:
    patience = Patience(5, note=None)
    return SegmentedFile(path, size, patience=patience, meter=meter or Meter(None))


def test_segments_in_any_order(tmp_path: Path, small_segments: int) -> None:
    data = random.Random(1).randbytes(1050)
    file = _file(tmp_path / "part", len(data))

    def source(start: int, end: int) -> Iterator[bytes]:
        yield data[start : start + (end - start) // 2]
        yield data[start + (end - start) // 2 : end]

    claimed = []
    while (index := file.claim()) is not None:
        claimed.append(index)
    random.Random(2).shuffle(claimed)
    ended = []
    for index in claimed:
        file.fetch(index, source)
        ended.append(file.catch_up())
    assert ended == [False] * 10 + [True]
    assert file.finish() == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "part").read_bytes() == data


def test_broken_segment_goes_on_where_it_broke(tmp_path: Path, small_segments: int) -> None:
    data = bytes(range(250))
    asked = []

    def source(start: int, end: int) -> Iterator[bytes]:
        asked.append(start)
        yield data[start : min(start + 60, end)]
        if start + 60 < end:
            raise Unavailable("broken")

    file = _file(tmp_path / "part", len(data))
    while (index := file.claim()) is not None:
        file.fetch(index, source)
    assert asked == [0, 60, 100, 160, 200]
    assert file.catch_up()
    assert file.finish() == hashlib.sha256(data).hexdigest()


def test_segments_of_an_earlier_run_are_kept(tmp_path: Path, small_segments: int) -> None:
    data = random.Random(1).randbytes(350)

    def source(start: int, end: int) -> Iterator[bytes]:
        yield data[start:end]

    first = _file(tmp_path / "part", len(data))
    for _ in range(2):
        index = first.claim()
        assert index is not None
        first.fetch(index, source)
    with pytest.raises(BlockingIOError):
        _file(tmp_path / "part", len(data))
    first.close()
    seen: list[Progress] = []
    second = _file(tmp_path / "part", len(data), Meter(seen.append))
    assert second.resumed
    assert second.remaining == 2
    assert seen[-1].bytes == 200
    while (index := second.claim()) is not None:
        second.fetch(index, source)
    assert second.catch_up()
    assert second.finish() == hashlib.sha256(data).hexdigest()
    assert os.path.getsize(tmp_path / "part") == 350


def test_one_upload_of_a_kind_at_a_time() -> None:
    sources = [Source("/tmp/x", "/x", False)]
    key = resume_key(sources)
    assert key == resume_key(list(sources))
    assert key != resume_key([Source("/tmp/x", "/y", False)])
    with sole_use(key) as alone:
        assert alone
        with sole_use(key) as alone_too:
            assert not alone_too
        with sole_use(resume_key([Source("/tmp/y", "/y", False)])) as other:
            assert other
    with sole_use(key) as again:
        assert again


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b.csv", "text/csv"),
        ("/a/b.JSON", "application/json"),
        ("/a/b.parquet", "application/vnd.apache.parquet"),
        ("/a/b.tar.gz", "application/gzip"),
        ("/a.d/b", None),
        ("/a/.gz", None),
        ("/a/b.unheard-of", None),
    ],
)
def test_content_types(path: str, expected: str | None) -> None:
    assert content_type(path) == expected
