"""Making a tree from scratch, in one pass and little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import lt

from acai.lake.tree.chunks import BATCH, ChunkStore
from acai.lake.tree.cuts import STANDARD, Cuts, Cutter
from acai.lake.tree.nodes import EMPTY, Item, Node, decode, encode, read_nodes
from acai.lake.tree.values import Entry, Root

_READ_AHEAD = 4096  # entries cut in one go: some ninety leaves


class ChunkWriter:
    """Encodes nodes and hands their chunks to the store in batches."""

    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self._waiting: dict[bytes, bytes] = {}

    def write(self, nodes: Iterable[Node]) -> tuple[list[str], list[Root]]:
        """Key and root of each node, which are items of the level above."""
        keys, roots = [], []
        for node in nodes:
            root, data = encode(node)
            self._waiting[root.id] = data
            keys.append(node.keys[-1])
            roots.append(root)
            if len(self._waiting) >= BATCH:
                self.flush()
        return keys, roots

    def read(self, root: Root) -> Node:
        """A node that was written here, or before."""
        data = self._waiting.get(root.id)
        return read_nodes(self._store, [root])[0] if data is None else decode(data)

    def withdraw(self, root: Root) -> None:
        """Do not write this root's chunk after all, if it has not gone yet."""
        self._waiting.pop(root.id, None)

    def flush(self) -> None:
        if self._waiting:
            self._store.put_many(self._waiting)
            self._waiting = {}


class Levels:
    """Stacks levels upon a run of items until one node is left."""

    def __init__(self, writer: ChunkWriter, *, bottom: int, cuts: Cuts) -> None:
        self._writer = writer
        self._bottom = bottom
        self._cuts = cuts
        self._cutters: list[Cutter] = []
        self._written: list[int] = []  # nodes so far, by level
        self._last: list[Root] = []

    def add(self, keys: Sequence[str], items: Sequence[Item]) -> None:
        self._add(0, keys, items)

    def finish(self) -> Root:
        """The root, once every chunk is with the store."""
        root = EMPTY
        height = 0
        while height < len(self._cutters):
            self._keep(height, self._cutters[height].finish())
            root = self._last[height]
            if self._written[height] == 1:
                break
            height += 1
        self._writer.flush()
        return root

    def _add(self, height: int, keys: Sequence[str], items: Sequence[Item]) -> None:
        if height == len(self._cutters):
            self._cutters.append(Cutter(self._bottom + height, self._cuts))
            self._written.append(0)
            self._last.append(EMPTY)
        self._keep(height, self._cutters[height].feed(keys, items))

    def _keep(self, height: int, nodes: list[Node]) -> None:
        if nodes:
            keys, roots = self._writer.write(nodes)
            self._written[height] += len(nodes)
            self._last[height] = roots[-1]
            self._add(height + 1, keys, roots)


def build(
    store: ChunkStore, entries: Iterable[tuple[str, Entry]], *, cuts: Cuts = STANDARD
) -> Root:
    """The tree of these entries, written to the store.

    `entries` come sorted by path (Python's order of strings, which is that of their UTF-8),
    each path once; ValueError if they do not. The root depends on the entries alone.
    """
    levels = Levels(ChunkWriter(store), bottom=0, cuts=cuts)
    stream = iter(entries)
    previous = ""
    while batch := list(islice(stream, _READ_AHEAD)):
        keys = [path for path, _ in batch]
        check_order(previous, keys)
        previous = keys[-1]
        levels.add(keys, [entry for _, entry in batch])
    return levels.finish()


def check_order(previous: str, keys: list[str]) -> None:
    before = [previous, *keys[:-1]]
    if not all(map(lt, before, keys)):
        one, other = next(pair for pair in zip(before, keys, strict=True) if pair[0] >= pair[1])
        raise ValueError(f"Entries come sorted by path, each once; {other!r} came after {one!r}.")
