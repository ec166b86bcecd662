"""The cache gives out what it was given, drops what was changed, and stays within its limit."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from acai.agent.cache import BlobCache, locked
from acai.agent.talk import Interrupted
from acai.model.ids import Sha256


def put(cache: BlobCache, content: bytes) -> Sha256:
    sha256 = Sha256(hashlib.sha256(content).hexdigest())
    with cache.staging() as staging:
        staged = Path(staging) / sha256
        staged.write_bytes(content)
        cache.seal(str(staged))
        cache.add(sha256, str(staged))
    return sha256


def blobs(directory: Path) -> set[str]:
    return {path.name for path in (directory / "blobs").rglob("*") if path.is_file()}


def test_what_was_added_is_linked_and_read_only(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", 10**9)
    sha256 = put(cache, b"content")
    target = tmp_path / "target"
    assert cache.take(sha256, 7, str(target))
    assert target.read_bytes() == b"content"
    assert target.stat().st_nlink == 2
    assert target.stat().st_mode & 0o222 == 0
    assert cache.holds(sha256, str(target))
    with pytest.raises(FileExistsError):
        cache.take(sha256, 7, str(target))
    assert not cache.take(Sha256("0" * 64), 7, str(tmp_path / "other"))
    assert not list((tmp_path / "cache" / "staging").iterdir())


def test_what_a_program_changed_is_not_given_out_again(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", 10**9)
    sha256 = put(cache, b"content")
    first = tmp_path / "first"
    assert cache.take(sha256, 7, str(first))
    first.chmod(0o644)
    first.write_bytes(b"CHANGED")  # the same length
    assert not cache.take(sha256, 7, str(tmp_path / "second"))
    assert not (tmp_path / "second").exists()
    assert blobs(tmp_path / "cache") == set()
    assert first.read_bytes() == b"CHANGED"


def test_the_least_recently_used_go_and_those_in_use_stay(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", 1000)
    old, used, recent, new = (put(cache, word.encode() * 300) for word in "abcd")
    for age, sha256 in ((40, old), (30, used), (20, recent), (10, new)):
        path = next((tmp_path / "cache" / "blobs").rglob(sha256))
        os.utime(path, ns=(time.time_ns() - age * 10**9, path.stat().st_mtime_ns))
    assert cache.take(used, 300, str(tmp_path / "held"))
    (tmp_path / "held").unlink()
    assert cache.take(old, 300, str(tmp_path / "held"))
    os.utime(tmp_path / "held", ns=(0, (tmp_path / "held").stat().st_mtime_ns))
    cache.trim(1200)
    assert blobs(tmp_path / "cache") == {old, used}  # one is linked, the other was just used
    assert int((tmp_path / "cache" / "size.lock").read_text().split()[0]) == 600
    cache.trim(300)
    assert blobs(tmp_path / "cache") == {old, used}


def test_what_a_dead_agent_left_is_swept(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", 10)
    left = tmp_path / "cache" / "staging" / "left"
    left.mkdir(parents=True)
    (left / "part").write_bytes(b"half")
    (left.parent / "left.lock").touch()
    with cache.staging() as alive:
        cache.trim(100)
        assert Path(alive).is_dir()
        assert not left.exists()


def test_waiting_for_another_agent_can_be_interrupted(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    interrupt = threading.Event()
    with locked(path, interrupt):
        threading.Timer(0.1, interrupt.set).start()
        with pytest.raises(Interrupted), locked(path, interrupt):
            pass
    with locked(path, threading.Event(), shared=True), locked(path, threading.Event(), shared=True):
        pass
