"""What every chunk store promises, and one that lives in memory.

To put an implementation to the test, inherit the suite and provide a fixture `store`:

    class TestMyChunks(ChunkStoreContract):
        @pytest.fixture
        def store(self):
            yield MyChunks(...)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from acai.lake.tree import BATCH, EMPTY, ChunkStore, Entry, build, chunk_id, diff, edit, iterate


class MemoryChunks:
    """Chunks in a dictionary, with a tally of what was asked for and what was new."""

    def __init__(self) -> None:
        self.chunks: dict[bytes, bytes] = {}
        self.reset_tally()

    def reset_tally(self) -> None:
        self.gets = 0  # calls
        self.read: list[bytes] = []
        self.written: dict[bytes, bytes] = {}

    def get_many(self, ids: Collection[bytes], /) -> Mapping[bytes, bytes]:
        self.gets += 1
        self.read += ids
        return {id_: self.chunks[id_] for id_ in ids if id_ in self.chunks}

    def put_many(self, chunks: Mapping[bytes, bytes], /) -> None:
        for id_, data in chunks.items():
            if id_ not in self.chunks:
                self.chunks[id_] = self.written[id_] = bytes(data)


def _chunks(*texts: bytes) -> dict[bytes, bytes]:
    return {chunk_id(text): text for text in texts}


class ChunkStoreContract:
    """Inherit, provide the fixture `store` (an empty one), and every test must pass."""

    def test_what_was_put_is_got(self, store: ChunkStore) -> None:
        chunks = _chunks(b"one", b"two", bytes(range(256)))
        store.put_many(chunks)
        assert dict(store.get_many(list(chunks))) == chunks

    def test_an_unknown_id_is_left_out(self, store: ChunkStore) -> None:
        chunks = _chunks(b"known")
        store.put_many(chunks)
        assert dict(store.get_many([*chunks, chunk_id(b"unknown")])) == chunks

    def test_only_what_was_asked_for_is_got(self, store: ChunkStore) -> None:
        store.put_many(_chunks(b"wanted", b"other"))
        assert dict(store.get_many([chunk_id(b"wanted")])) == _chunks(b"wanted")

    def test_putting_again_is_no_error(self, store: ChunkStore) -> None:
        store.put_many(_chunks(b"same"))
        store.put_many(_chunks(b"same", b"new"))
        both = _chunks(b"same", b"new")
        assert dict(store.get_many(list(both))) == both

    def test_nothing_may_be_asked_and_put(self, store: ChunkStore) -> None:
        store.put_many({})
        assert dict(store.get_many([])) == {}

    def test_a_whole_batch_passes_in_one_call(self, store: ChunkStore) -> None:
        chunks = _chunks(*(b"%d" % number * 500 for number in range(BATCH)))
        store.put_many(chunks)
        assert dict(store.get_many(list(chunks))) == chunks

    def test_a_chunk_may_be_large_or_empty(self, store: ChunkStore) -> None:
        chunks = _chunks(b"", b"\0\xff" * 50_000)
        store.put_many(chunks)
        assert dict(store.get_many(list(chunks))) == chunks

    def test_bytes_come_back_as_bytes(self, store: ChunkStore) -> None:
        store.put_many(_chunks(b"plain"))
        ((id_, data),) = store.get_many([chunk_id(b"plain")]).items()
        assert type(id_) is bytes
        assert type(data) is bytes

    def test_a_tree_lives_in_it(self, store: ChunkStore) -> None:
        entries = {
            f"/data/{number:05d}.bin": Entry(1, number.to_bytes(32, "big"), number, number)
            for number in range(5_000)
        }
        first = build(store, sorted(entries.items()))
        added = Entry(2, bytes(32), 7, 9_999)
        second = edit(store, first, {"/data/02500.bin": added}, ["/data/04000.bin"])
        assert dict(iterate(store, first)) == entries
        assert [change.path for change in diff(store, first, second)] == [
            "/data/02500.bin",
            "/data/04000.bin",
        ]
        assert edit(store, second, {}, list(entries)) == EMPTY
