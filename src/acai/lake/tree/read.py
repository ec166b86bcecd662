"""Looking into a tree. A level is read by one call of the store, never a call for each node."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from acai.lake.tree.chunks import BATCH, ChunkStore, read_chunks
from acai.lake.tree.nodes import EMPTY, Node, decode, encode, read_nodes
from acai.lake.tree.values import Entry, Root, Totals


def open_root(store: ChunkStore, id_: bytes) -> Root:
    """The root of the tree whose top chunk is `id_`, for who has kept only the id."""
    if id_ == EMPTY.id:
        return EMPTY
    return encode(decode(read_chunks(store, [id_])[id_]))[0]


def get(store: ChunkStore, root: Root, paths: Collection[str]) -> dict[str, Entry]:
    """The entries at these paths; a path that the tree does not hold is left out."""
    return look_up(NodeReader(store), root, sorted(set(paths)))


class NodeReader:
    """Reads nodes for one operation, and keeps the inner ones, which it passes again."""

    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self._inner: dict[bytes, Node] = {}

    def read(self, roots: Sequence[Root]) -> list[Node]:
        unread = [root for root in roots if root.id not in self._inner]
        fresh: dict[bytes, Node] = {}
        for root, node in zip(unread, read_nodes(self._store, unread), strict=True):
            (self._inner if node.level else fresh)[root.id] = node
        return [fresh.get(root.id) or self._inner[root.id] for root in roots]


def covering(
    reader: NodeReader, root: Root, level: int, paths: list[str]
) -> list[tuple[Root, list[str]]]:
    """The subtrees at `level` into whose ranges these sorted paths fall, each with its paths.

    What lies beyond the last range goes to the last subtree. A tree that is not as high has
    none. One call of the store for each level above.
    """
    (top,) = reader.read([root])
    if top.level < level or not paths:
        return []
    visits = [(root, paths)]
    for _ in range(top.level - level):
        nodes = reader.read([root for root, _ in visits])
        visits = [
            visit
            for node, (_, inside) in zip(nodes, visits, strict=True)
            for visit in _route(node, inside)
        ]
    return visits


def look_up(reader: NodeReader, root: Root, paths: list[str]) -> dict[str, Entry]:
    """As `get`, for sorted paths."""
    visits = covering(reader, root, 0, paths)
    found: dict[str, Entry] = {}
    leaves = reader.read([leaf for leaf, _ in visits])
    for node, (_, wanted) in zip(leaves, visits, strict=True):
        held = dict(zip(node.keys, node.entries, strict=True))
        found.update((path, held[path]) for path in wanted if path in held)
    return found


def _route(node: Node, paths: list[str]) -> Iterator[tuple[Root, list[str]]]:
    start = 0
    while start < len(paths):
        child = bisect_left(node.keys, paths[start])
        if child >= len(node.keys) - 1:
            yield node.roots[-1], paths[start:]
            return
        stop = bisect_right(paths, node.keys[child], start)
        yield node.roots[child], paths[start:stop]
        start = stop


def iterate(
    store: ChunkStore,
    root: Root,
    *,
    prefix: str = "",
    after: str | None = None,
    offset: int = 0,
    limit: int | None = None,
) -> Iterator[tuple[str, Entry]]:
    """The entries whose path starts with `prefix`, in order of path.

    Those up to and including `after` are passed over, then `offset` more, without reading
    them. Memory is bounded by a few batches of chunks, whatever the size of the tree; a short
    `limit` reads few chunks.
    """
    low, high = prefix, _end_of(prefix)
    if after is not None and after >= low:
        low = after + "\0"  # the least string above: no path holds a NUL
    if offset > 0:
        low_or_none = _path_at(store, root, _below(store, root, low).file_count + offset)
        if low_or_none is None:
            return
        low = low_or_none
    yield from islice(_entries(_leaves(store, root, low, high), low, high), limit)


def totals(store: ChunkStore, root: Root, prefix: str = "") -> Totals:
    """Number and total size of the files whose path starts with `prefix`: two descents."""
    if not prefix:
        return Totals(root.file_count, root.size)
    low = _below(store, root, prefix)
    end = _end_of(prefix)
    high = Totals(root.file_count, root.size) if end is None else _below(store, root, end)
    return Totals(high.file_count - low.file_count, high.size - low.size)


def reachable(store: ChunkStore, ids: Iterable[bytes]) -> set[bytes]:
    """Every chunk that the trees with these top chunks are made of.

    What two trees share is walked once. Leaves are not read, unless they are tops.
    """
    tops = set(ids) - {EMPTY.id}
    seen = set(tops)
    unread = list(tops)
    while unread:
        batch, unread = unread[:BATCH], unread[BATCH:]
        for data in read_chunks(store, batch).values():
            node = decode(data)
            if node.level > 0:
                fresh = {root.id for root in node.roots} - seen
                seen |= fresh
                if node.level > 1:
                    unread += fresh
    return seen


def entries_of(store: ChunkStore, leaves: Iterable[Root]) -> Iterator[tuple[str, Entry]]:
    """The entries of these leaves, read in batches as they are consumed."""
    for node in _read_ahead(store, iter(leaves)):
        yield from zip(node.keys, node.entries, strict=True)


def _end_of(prefix: str) -> str | None:
    """The least string above everything that starts with `prefix`; None if there is none."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None


def _span(node: Node, low: str, high: str | None) -> slice:
    """The children of an inner node that may hold keys with low <= key < high."""
    stop = None if high is None else bisect_left(node.keys, high) + 1
    return slice(bisect_left(node.keys, low), stop)


def _leaves(store: ChunkStore, root: Root, low: str, high: str | None) -> Iterator[Node]:
    (top,) = read_nodes(store, [root])
    nodes = iter([top])
    for _ in range(top.level):
        nodes = _read_ahead(store, _children(nodes, low, high))
    return nodes


def _children(nodes: Iterator[Node], low: str, high: str | None) -> Iterator[Root]:
    for node in nodes:
        yield from node.roots[_span(node, low, high)]


def _read_ahead(store: ChunkStore, roots: Iterator[Root]) -> Iterator[Node]:
    """Batches grow, so that a reader of one page does not pay for a reader of all."""
    size = 2
    while batch := list(islice(roots, size)):
        yield from read_nodes(store, batch)
        size = min(2 * size, BATCH)


def _entries(leaves: Iterator[Node], low: str, high: str | None) -> Iterator[tuple[str, Entry]]:
    for node in leaves:
        start = bisect_left(node.keys, low)
        stop = len(node.keys) if high is None else bisect_left(node.keys, high)
        if stop - start == len(node.keys):
            yield from zip(node.keys, node.entries, strict=True)
        else:
            yield from zip(node.keys[start:stop], node.entries[start:stop], strict=True)


def _below(store: ChunkStore, root: Root, bound: str) -> Totals:
    """Number and size of the entries whose path is less than `bound`."""
    count = size = 0
    while True:
        (node,) = read_nodes(store, [root])
        child = bisect_left(node.keys, bound)
        if node.level == 0:
            passed = node.entries[:child]
            return Totals(count + len(passed), size + sum(entry.size for entry in passed))
        for sibling in node.roots[:child]:
            count += sibling.file_count
            size += sibling.size
        if child == len(node.keys):
            return Totals(count, size)
        root = node.roots[child]


def _path_at(store: ChunkStore, root: Root, rank: int) -> str | None:
    """The path that `rank` others precede."""
    if rank >= root.file_count:
        return None
    while True:
        (node,) = read_nodes(store, [root])
        if node.level == 0:
            return node.keys[rank]
        for child in node.roots:
            if rank < child.file_count:
                root = child
                break
            rank -= child.file_count
