from __future__ import annotations

import pytest

from acai.lake.tree import Entry, build, chunk_id, edit, get, iterate, open_root
from acai.lake.tree.nodes import Node, decode, encode
from acai.model.errors import CorruptData, InternalError, SchemaTooNew
from acai.testing.chunks import ChunkStoreContract, MemoryChunks


class TestMemoryChunks(ChunkStoreContract):
    @pytest.fixture
    def store(self) -> MemoryChunks:
        return MemoryChunks()


def entry(number: int) -> Entry:
    return Entry(1 + number % 3, number.to_bytes(32, "little"), number * 1000, number + 1)


@pytest.fixture
def store() -> MemoryChunks:
    return MemoryChunks()


def test_a_leaf_is_these_bytes() -> None:
    """The format is a promise: every root that was ever recorded depends on it."""
    root, data = encode(Node(0, ["/a/é", "/a/ü"], [entry(1), entry(400)]))
    assert data == (
        b"\x01\x00"
        b"\x02\x00\x00\x00\x03\x00\x00\x00\x05\x00\x00\x00"
        b"/a/\xc3\xa9\x00\xc3\xbc"
        + entry(1).sha256
        + entry(400).sha256
        + b"\x01\x02\x02"
        + b"\x04\xe8\x03\x00\x00\x80\x1a\x06\x00"
        + b"\x02\x02\x00\x91\x01"
    )
    assert root.id == chunk_id(data)
    assert (root.file_count, root.size) == (2, 401_000)
    assert decode(data) == Node(0, ["/a/é", "/a/ü"], [entry(1), entry(400)])


def test_the_root_of_a_known_map_stays(store: MemoryChunks) -> None:
    root = build(store, ((f"/data/{n:06d}", entry(n)) for n in range(10_000)))
    assert root.id.hex() == "488faee5333da0dd0ed35e33eb9b7a5cd73ec920"
    assert root.content.hex() == "4bca37c3d70905e073ed0f15ea220f2ffe4f1df1"


def test_extreme_numbers_survive() -> None:
    widest = Entry(2**64 - 1, bytes(32), 2**63 - 1, 2**63 - 1)
    for item in (widest, Entry(0, bytes(32), 0, 0)):
        node = Node(0, ["/x"], [item])
        assert decode(encode(node)[1]) == node


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("/a\0b", entry(1)),
        ("/a", Entry(-1, bytes(32), 0, 0)),
        ("/a", Entry(1, bytes(32), 2**64, 0)),
        ("/a", Entry(1, bytes(31), 0, 0)),
        ("/\ud800", entry(1)),
    ],
)
def test_what_no_chunk_can_hold_is_refused(store: MemoryChunks, path: str, item: Entry) -> None:
    with pytest.raises(ValueError, match=r"path|number|SHA-256|surrogates"):
        build(store, [(path, item)])
    assert store.chunks == {}


def test_changed_bytes_are_noticed(store: MemoryChunks) -> None:
    root = build(store, ((f"/{n:05d}", entry(n)) for n in range(2_000)))
    victim = next(id_ for id_ in store.chunks if id_ != root.id)
    store.chunks[victim] = store.chunks[victim][:-1] + b"?"
    with pytest.raises(CorruptData, match=victim.hex()) as caught:
        list(iterate(store, root))
    assert isinstance(caught.value, InternalError)
    assert caught.value.detail == {"chunk": victim.hex()}


def test_a_missing_chunk_is_noticed(store: MemoryChunks) -> None:
    root = build(store, [("/a", entry(1))])
    del store.chunks[root.id]
    with pytest.raises(CorruptData, match="missing"):
        get(store, root, ["/a"])
    with pytest.raises(CorruptData, match="missing"):
        edit(store, root, {"/b": entry(2)})


def test_a_chunk_of_a_later_format_says_so(store: MemoryChunks) -> None:
    data = b"\x02whatever"
    store.put_many({chunk_id(data): data})
    with pytest.raises(SchemaTooNew, match="upgrade"):
        open_root(store, chunk_id(data))


def test_a_chunk_that_was_written_wrong_is_corrupt() -> None:
    _, data = encode(Node(0, ["/a", "/b"], [entry(1), entry(2)]))
    for wrong in (data[:10], data[:-1], data[:2] + b"\x03" + data[3:], data[:60]):
        with pytest.raises(CorruptData):
            decode(wrong)
