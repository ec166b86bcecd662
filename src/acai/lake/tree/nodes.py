"""The bytes of a chunk.

    offset 0   format      1 byte, 1
           1   level       1 byte, 0 for a leaf
           2   n           4 bytes: keys in this node
           6   prefix      4 bytes: length of what all keys begin with
          10   rest        4 bytes: length of the rest of the keys
          14   prefix, then the rest of each key, with NUL between them
               leaf:   n SHA-256, then columns version, size, id
               inner:  n chunk ids, n content digests, then columns count, size

A column is one byte of width (1, 2, 4 or 8) and n little-endian numbers of that width, the
smallest that holds the largest. The key of an inner node's item is the last key below it.
There is one encoding of a node, so that equal nodes are equal bytes. Columns, rather than
one record after another, are what lets a leaf be read by a handful of calls and not by a
Python loop over its entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import repeat
from typing import NamedTuple, TypeVar, cast

from acai.lake.tree.chunks import ID_BYTES, ChunkStore, chunk_id, read_chunks
from acai.lake.tree.values import Entry, Root
from acai.model.errors import CorruptData, SchemaTooNew

Item = Entry | Root

_FORMAT = 1
_HEADER = struct.Struct("<BBIII")
_SHA_BYTES = 32
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_T = TypeVar("_T", bound=tuple[object, ...])


class Node(NamedTuple):
    level: int
    keys: list[str]
    items: list[Item]

    @property
    def entries(self) -> list[Entry]:
        """The items of a leaf."""
        return cast("list[Entry]", self.items)

    @property
    def roots(self) -> list[Root]:
        """The items of an inner node: a tree each."""
        return cast("list[Root]", self.items)


def encode(node: Node) -> tuple[Root, bytes]:
    """The chunk of a node, and the root that names it.

    Raises ValueError for an entry that no chunk can hold: an empty path or one with a NUL, a
    digest that is not 32 bytes, a number below zero or above 64 bits.
    """
    prefix, rest = _fold(node.keys)
    keys = prefix + rest
    head = _HEADER.pack(_FORMAT, node.level, len(node.keys), len(prefix), len(rest))
    try:
        if node.level == 0:
            content, body, size = _leaf_body(node.entries)
            digest = _content(b"leaf", head + keys, content)
            count = len(node.keys)
        else:
            content, body, count, size = _inner_body(node.roots)
            digest = _content(b"inner", content)
    except struct.error as error:
        raise ValueError(
            f"A number does not fit into 64 bits at or after path {node.keys[0]!r}."
        ) from error
    data = b"".join((head, keys, body))
    return Root(chunk_id(data), digest, count, size), data


def decode(data: bytes) -> Node:
    """The node of a chunk that `encode` made."""
    if data[:1] != bytes((_FORMAT,)):
        raise SchemaTooNew(
            f"A set's manifest has format {data[:1].hex() or 'none'}, which this acai cannot "
            "read; upgrade acai."
        )
    try:
        _, level, n, prefix_size, rest_size = _HEADER.unpack_from(data)
        start = _HEADER.size
        prefix = data[start : start + prefix_size].decode()
        start += prefix_size
        keys = _unfold(n, prefix, data[start : start + rest_size].decode())
        start += rest_size
        items = _leaf_items(data, start, n) if level == 0 else _inner_items(data, start, n)
    except (struct.error, ValueError, LookupError) as error:
        raise CorruptData(
            "A chunk of a set's manifest cannot be read; restore it from a backup.",
            chunk=chunk_id(data).hex(),
        ) from error
    return Node(level, keys, items)


def read_nodes(store: ChunkStore, roots: Iterable[Root]) -> list[Node]:
    """The top nodes of these trees, in their order, by as few calls of the store as can be."""
    ids = [root.id for root in roots]
    chunks = read_chunks(store, (id_ for id_ in ids if id_ != EMPTY.id))
    chunks[EMPTY.id] = _EMPTY_CHUNK
    return [decode(chunks[id_]) for id_ in ids]


def _content(kind: bytes, *parts: bytes) -> bytes:
    """Chunks are cut by their keys alone, so equal content has nodes of equal shape."""
    return blake2b(b"".join(parts), digest_size=ID_BYTES, person=b"acai " + kind).digest()


def _fold(keys: Sequence[str]) -> tuple[bytes, bytes]:
    if not keys:
        return b"", b""
    first, last = keys[0], keys[-1]  # sorted: what these two share, all share
    shared = 0
    while shared < len(first) and first[shared] == last[shared]:
        shared += 1
    rest = "\0".join([key[shared:] for key in keys]).encode()
    prefix = first[:shared].encode()
    if not first or rest.count(0) != len(keys) - 1 or 0 in prefix:
        raise ValueError(f"A path at or after {first!r} is empty or holds a NUL.")
    return prefix, rest


def _unfold(n: int, prefix: str, rest: str) -> list[str]:
    if n == 0:
        return []
    keys = [prefix + key for key in rest.split("\0")] if prefix else rest.split("\0")
    if len(keys) != n:
        raise ValueError("the number of keys differs from the header")
    return keys


def _column(values: Sequence[int]) -> bytes:
    top = max(values, default=0)
    width = 1 if top < 1 << 8 else 2 if top < 1 << 16 else 4 if top < 1 << 32 else 8
    return struct.pack(f"<B{len(values)}{_CODES[width]}", width, *values)


def _read_column(data: bytes, start: int, n: int) -> tuple[tuple[int, ...], int]:
    width = data[start]
    values = struct.unpack_from(f"<{n}{_CODES[width]}", data, start + 1)
    return values, start + 1 + n * width


def _slices(data: bytes, start: int, n: int, width: int) -> list[bytes]:
    stop = start + n * width
    if stop > len(data):
        raise ValueError("the chunk is too short")
    return [data[at : at + width] for at in range(start, stop, width)]


def _tuples(kind: type[_T], *columns: Sequence[object]) -> list[Item]:
    # tuple.__new__ through map makes named tuples without entering Python once for each.
    rows = map(tuple.__new__, repeat(kind), zip(*columns, strict=True))
    return cast("list[Item]", list(rows))


def _leaf_body(entries: Sequence[Entry]) -> tuple[bytes, bytes, int]:
    if not entries:
        return b"", b"\1\1\1", 0
    versions, digests, sizes, ids = zip(*entries, strict=True)
    if set(map(len, digests)) != {_SHA_BYTES}:
        raise ValueError("A SHA-256 has 32 bytes; an entry came with another length.")
    content = b"".join(digests)
    body = b"".join((content, _column(versions), _column(sizes), _column(ids)))
    return content, body, sum(sizes)


def _leaf_items(data: bytes, start: int, n: int) -> list[Item]:
    digests = _slices(data, start, n, _SHA_BYTES)
    versions, at = _read_column(data, start + n * _SHA_BYTES, n)
    sizes, at = _read_column(data, at, n)
    ids, at = _read_column(data, at, n)
    return _tuples(Entry, versions, digests, sizes, ids)


def _inner_body(roots: Sequence[Root]) -> tuple[bytes, bytes, int, int]:
    ids, contents, counts, sizes = zip(*roots, strict=True)
    content = b"".join(contents)
    body = b"".join((*ids, content, _column(counts), _column(sizes)))
    return content, body, sum(counts), sum(sizes)


def _inner_items(data: bytes, start: int, n: int) -> list[Item]:
    ids = _slices(data, start, n, ID_BYTES)
    contents = _slices(data, start + n * ID_BYTES, n, ID_BYTES)
    counts, at = _read_column(data, start + 2 * n * ID_BYTES, n)
    sizes, at = _read_column(data, at, n)
    return _tuples(Root, ids, contents, counts, sizes)


EMPTY, _EMPTY_CHUNK = encode(Node(0, [], []))
"""The tree of nothing. Its chunk is known to everyone and never stored."""
