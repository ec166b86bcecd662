"""The contract suite for object stores. A new store passes it in ten lines:

    class TestMyStore(ObjectStoreContract, SignerContract, MultipartContract):
        @pytest.fixture
        def store(self):
            yield MyStore(...)      # empty, and nobody else's

The other two, for stores that sign and that take parts, are in `signed_objects`.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from acai.model.errors import (
    InvalidInput,
    ObjectNotFound,
)
from acai.stores.objects.base import (
    MIB,
    ObjectStore,
)


def _resident() -> int:
    """The memory this process holds now, of native libraries as well; 0 where unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


class ObjectStoreContract:
    """What every ObjectStore does. Give a `store` fixture with an empty store."""

    def test_an_object_comes_back_as_it_was_put(self, store: ObjectStore) -> None:
        store.put("a/b/one", b"hello")
        assert b"".join(store.get("a/b/one")) == b"hello"

    def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        store.put("empty", b"")
        info = store.head("empty")
        assert info is not None
        assert info.size == 0
        assert b"".join(store.get("empty")) == b""

    @pytest.mark.parametrize(
        ("offset", "length", "expected"),
        [
            (0, 4, b"0123"),
            (3, 4, b"3456"),
            (7, None, b"789"),
            (9, 1, b"9"),
            (8, 100, b"89"),
            (10, None, b""),
            (10, 5, b""),
            (500, 5, b""),
            (500, None, b""),
            (4, 0, b""),
        ],
    )
    def test_a_range_gives_what_there_is_of_it(
        self, store: ObjectStore, offset: int, length: int | None, expected: bytes
    ) -> None:
        store.put("digits", b"0123456789")
        assert b"".join(store.get("digits", offset=offset, length=length)) == expected

    def test_what_is_put_again_replaces(self, store: ObjectStore) -> None:
        store.put("key", b"first, and longer")
        store.put("key", b"second")
        assert b"".join(store.get("key")) == b"second"
        assert [info.size for info in store.list()] == [6]

    def test_head_tells_size_and_time(self, store: ObjectStore) -> None:
        store.put("key", b"x" * 1234)
        info = store.head("key")
        assert info is not None
        assert (info.key, info.size) == ("key", 1234)
        assert abs(datetime.now(UTC) - info.modified) < timedelta(minutes=5)

    def test_what_is_missing_is_told_at_once(self, store: ObjectStore) -> None:
        store.put("there/too", b"x")
        assert store.head("not/there") is None
        assert store.head("there") is None
        assert store.head("there/too/deep") is None
        for length in (None, 0, 5):
            with pytest.raises(ObjectNotFound):
                store.get("not/there", length=length)
        with pytest.raises(ObjectNotFound):
            store.get("not/there", offset=7, length=5)

    def test_many_are_deleted_at_once_and_missing_ones_do_not_matter(
        self, store: ObjectStore
    ) -> None:
        keys = [f"many/{number:03}" for number in range(30)]
        for key in keys:
            store.put(key, b"x")
        store.put("kept", b"x")
        store.delete([*keys[:10], "many/none", "none/at/all", *keys[10:]])
        assert [info.key for info in store.list()] == ["kept"]
        store.delete(keys)
        store.delete([])
        assert [info.key for info in store.list()] == ["kept"]

    def test_listing_2500_keys_is_complete_in_order_and_resumable(self, store: ObjectStore) -> None:
        keys = [f"pages/{number // 500}/{number:05}" for number in range(2500)]
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda key: store.put(key, b"x"), keys))
        store.put("other", b"x")
        assert [info.key for info in store.list("pages/")] == keys
        assert [info.key for info in store.list("pages/", start_after=keys[1203])] == keys[1204:]
        assert [info.key for info in store.list("pages/3/")] == keys[1500:2000]
        assert list(store.list("pages/", start_after=keys[-1])) == []
        store.delete(keys)

    def test_a_prefix_ends_at_a_separator(self, store: ObjectStore) -> None:
        for key in ("ab/1", "abc/1", "a/1"):
            store.put(key, b"x")
        assert [info.key for info in store.list("ab/")] == ["ab/1"]
        assert list(store.list("b/")) == []
        with pytest.raises(InvalidInput):
            list(store.list("ab"))

    def test_keys_with_odd_characters(self, store: ObjectStore) -> None:
        keys = {
            "a=b/c+d@e,f",
            "a-b/x",
            "a/x",
            "a.b/x",
            "A/X..y",
            "-dash/_under",
            "w" * 200 + "/" + "v" * 200,
            "plus+plus++",
            "a=c",
        }
        for key in keys:
            store.put(key, key.encode())
        listed = [info.key for info in store.list()]
        assert sorted(listed) == sorted(keys)
        for number, key in enumerate(listed):
            assert b"".join(store.get(key)) == key.encode()
            rest = [info.key for info in store.list(start_after=key)]
            assert rest == listed[number + 1 :]

    @pytest.mark.parametrize(
        "key",
        [
            "",
            "/a",
            "a/",
            "a//b",
            "../a",
            "a/../b",
            "a/./b",
            ".acai/x",
            "a b",
            "é",
            "a\n",
            "a" * 201,
        ],
    )
    def test_a_bad_key_is_refused(self, store: ObjectStore, key: str) -> None:
        with pytest.raises(InvalidInput):
            store.put(key, b"x")
        with pytest.raises(InvalidInput):
            store.get(key)
        with pytest.raises(InvalidInput):
            store.head(key)
        with pytest.raises(InvalidInput):
            store.delete([key])

    def test_a_source_that_fails_stores_nothing(self, store: ObjectStore) -> None:
        def broken() -> Iterator[bytes]:
            yield b"x" * MIB
            raise FileNotFoundError("the source broke")

        store.put("kept", b"before")
        for key in ("fresh", "kept"):
            with pytest.raises(FileNotFoundError, match="the source broke"):
                store.put(key, broken())
        assert store.head("fresh") is None
        assert b"".join(store.get("kept")) == b"before"
        assert [info.key for info in store.list()] == ["kept"]

    def test_readers_never_see_a_mixture(self, store: ObjectStore) -> None:
        size = 300_000
        stop = threading.Event()
        store.put("hot", b"0" * size)

        def write(letter: bytes) -> None:
            for _ in range(12):
                store.put("hot", letter * size)

        def read() -> set[bytes]:
            seen = set()
            while not stop.is_set():
                data = b"".join(store.get("hot"))
                assert len(data) == size
                assert data == data[:1] * size
                seen.add(data[:1])
            return seen

        with ThreadPoolExecutor(5) as threads:
            readers = [threads.submit(read) for _ in range(2)]
            writers = [threads.submit(write, letter) for letter in (b"1", b"2", b"3")]
            try:
                for writer in writers:
                    writer.result(timeout=60)
            finally:
                stop.set()
            for reader in readers:
                assert reader.result(timeout=60) <= {b"0", b"1", b"2", b"3"}

    def test_a_long_stream_needs_little_memory(self, store: ObjectStore) -> None:
        chunk = bytes(range(256)) * 4096
        count = 160
        before = most = _resident()

        def source() -> Iterator[bytes]:
            nonlocal most
            for _ in range(count):
                most = max(most, _resident())
                yield bytes(bytearray(chunk))

        store.put("long", source())
        read, expected = hashlib.sha256(), hashlib.sha256()
        for piece in store.get("long"):
            most = max(most, _resident())
            read.update(piece)
        for _ in range(count):
            expected.update(chunk)
        assert read.hexdigest() == expected.hexdigest()
        assert most - before < 110 * MIB

    def test_check_finds_a_working_store_and_leaves_nothing(self, store: ObjectStore) -> None:
        store.check()
        assert list(store.list()) == []
