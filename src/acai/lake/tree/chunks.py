"""The port under the tree: where chunks are kept, and how they are named and checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Protocol

from acai.model.errors import CorruptData

ID_BYTES = 20
BATCH = 256  # chunks in one call of the port: half a megabyte, and under every SQL parameter limit


class ChunkStore(Protocol):
    """Immutable byte strings under the ids that the tree gives them.

    The tree asks for at most `BATCH` chunks in one call, and never for the same id twice in it.
    """

    def get_many(self, ids: Collection[bytes], /) -> Mapping[bytes, bytes]:
        """The chunks of these ids. An id that is not stored is left out of the answer."""
        ...

    def put_many(self, chunks: Mapping[bytes, bytes], /) -> None:
        """Keep these chunks. An id that is stored already keeps its bytes; that is no error."""
        ...


def chunk_id(data: bytes) -> bytes:
    return blake2b(data, digest_size=ID_BYTES, person=b"acai set chunk").digest()


def read_chunks(store: ChunkStore, ids: Iterable[bytes]) -> dict[bytes, bytes]:
    """The chunks of all these ids, verified.

    Raises CorruptData for a chunk that is missing or whose bytes do not have its id.
    """
    found: dict[bytes, bytes] = {}
    wanted = iter(dict.fromkeys(ids))
    while batch := list(islice(wanted, BATCH)):
        answer = store.get_many(batch)
        for id_ in batch:
            data = answer.get(id_)
            if data is None:
                raise CorruptData(
                    f"Chunk {id_.hex()} of a set's manifest is missing; restore it from a backup.",
                    chunk=id_.hex(),
                )
            if chunk_id(data) != id_:
                raise CorruptData(
                    f"Chunk {id_.hex()} of a set's manifest has changed since it was written; "
                    "restore it from a backup.",
                    chunk=id_.hex(),
                )
            found[id_] = data
    return found
