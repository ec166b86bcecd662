"""A new version of a tree: only the chunks that change are read and written.

Each level is edited by the same rule. Its edits are (key, item), or (key, None) to remove;
the nodes they fall into are cut anew from the node's start until a new cut meets an old one;
and the nodes that went and came are the edits of the level above. What results is, chunk by
chunk, what building the changed map from scratch would give.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from acai.lake.tree.build import ChunkWriter, Levels, check_order
from acai.lake.tree.chunks import ChunkStore
from acai.lake.tree.cuts import STANDARD, Cuts, Cutter
from acai.lake.tree.nodes import EMPTY, Item, Node
from acai.lake.tree.read import NodeReader, covering
from acai.lake.tree.values import Entry, Root

_Edit = tuple[str, Item | None]
_READ_AHEAD = 512  # edits whose nodes are fetched together: at worst as many leaves in memory


def edit(
    store: ChunkStore,
    root: Root,
    puts: Mapping[str, Entry],
    deletes: Collection[str] = (),
    *,
    cuts: Cuts = STANDARD,
) -> Root:
    """The tree with `puts` added or replaced and `deletes` removed.

    To delete a path that is not there changes nothing. ValueError for a path in both.
    """
    changes: dict[str, Entry | None] = dict.fromkeys(deletes)
    for path, entry in puts.items():
        if path in changes:
            raise ValueError(f"Path {path!r} is both put and deleted; name it once.")
        changes[path] = entry
    return apply(store, root, ((path, changes[path]) for path in sorted(changes)), cuts=cuts)


def apply(
    store: ChunkStore,
    root: Root,
    changes: Iterable[tuple[str, Entry | None]],
    *,
    cuts: Cuts = STANDARD,
) -> Root:
    """As `edit`, for a stream of (path, entry), or (path, None) for a path that goes.

    The stream is sorted by path, each path once; ValueError if it is not. It is consumed in
    batches: what stays in memory is inner nodes, about a fiftieth of what was touched.
    """
    writer = ChunkWriter(store)
    reader = NodeReader(store)
    (top,) = reader.read([root])
    edits: Iterable[_Edit] = changes
    for level in range(top.level + 1):
        edits = _edit_level(_Cursor(reader, root, level), edits, writer, cuts)
        if not edits:
            return root
    keys, tops = _merge(top.keys[-1:], [root] if top.keys else [], list(edits))
    if not tops:
        return EMPTY
    if len(tops) == 1:
        return _without_stem(writer, cast("Root", tops[0]))
    levels = Levels(writer, bottom=top.level + 1, cuts=cuts)
    levels.add(keys, tops)
    return levels.finish()


def _without_stem(writer: ChunkWriter, root: Root) -> Root:
    """Take off top nodes with a single child: a build would not have made them."""
    node = writer.read(root)
    while node.level > 0 and len(node.items) == 1:
        writer.withdraw(root)
        root = node.roots[0]
        node = writer.read(root)
    writer.flush()
    return root


def _edit_level(
    cursor: _Cursor, edits: Iterable[_Edit], writer: ChunkWriter, cuts: Cuts
) -> list[_Edit]:
    """Edit one level; the answer is the edits of the level above, in order."""
    gone: dict[str, Root] = {}
    came: dict[str, Root] = {}
    cutter = Cutter(cursor.level, cuts)
    queue = _Queue(edits, cursor)

    def keep(nodes: list[Node]) -> None:
        came.update(zip(*writer.write(nodes), strict=True))

    while (start := queue.next_key()) is not None:
        cursor.seek(start)
        while True:
            node, last = cursor.node(), cursor.at_last()
            gone[node.keys[-1] if node.keys else ""] = cursor.root()
            at = 0
            for batch in queue.take(None if last else node.keys[-1]):
                stop = bisect_right(node.keys, batch[-1][0], at)
                keep(cutter.feed(*_merge(node.keys[at:stop], node.items[at:stop], batch)))
                at = stop
            keep(cutter.feed(node.keys[at:], node.items[at:]))
            if last:
                keep(cutter.finish())
            if not cutter.pending:
                break
            cursor.advance()
    return _replacements(gone, came, writer)


def _merge(
    keys: Sequence[str], items: Sequence[Item], edits: Sequence[_Edit]
) -> tuple[list[str], list[Item]]:
    merged: dict[str, Item] = dict(zip(keys, items, strict=True))
    for key, item in edits:
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = item
    ordered = sorted(merged)
    return ordered, [merged[key] for key in ordered]


def _replacements(
    gone: Mapping[str, Root], came: Mapping[str, Root], writer: ChunkWriter
) -> list[_Edit]:
    edits: list[_Edit] = []
    for key in sorted(gone.keys() | came.keys()):
        old, new = gone.get(key), came.get(key)
        if old != new:
            edits.append((key, new))
        elif new is not None:
            writer.withdraw(new)
    return edits


class _Cursor:
    """A place among the nodes of one level of the old tree."""

    def __init__(self, reader: NodeReader, top: Root, level: int) -> None:
        self.level = level
        self._reader = reader
        self._top = top
        self._stem: list[tuple[Node, int]] = []
        self._near: dict[bytes, Node] = {}

    def prefetch(self, keys: list[str]) -> None:
        """Fetch the nodes into whose ranges these sorted keys fall."""
        roots = [root for root, _ in covering(self._reader, self._top, self.level, keys)]
        nodes = self._reader.read(roots)
        self._near = {root.id: node for root, node in zip(roots, nodes, strict=True)}

    def seek(self, key: str) -> None:
        """Go to the node in whose range `key` falls; beyond all of them, to the last."""
        self._stem = []
        while (node := self.node()).level > self.level:
            self._stem.append((node, min(bisect_left(node.keys, key), len(node.keys) - 1)))

    def advance(self) -> None:
        """Go to the next node of the level. There must be one."""
        while True:
            node, index = self._stem.pop()
            if index + 1 < len(node.items):
                break
        self._stem.append((node, index + 1))
        while (node := self.node()).level > self.level:
            self._stem.append((node, 0))

    def at_last(self) -> bool:
        return all(index + 1 == len(node.items) for node, index in self._stem)

    def root(self) -> Root:
        if not self._stem:
            return self._top
        node, index = self._stem[-1]
        return node.roots[index]

    def node(self) -> Node:
        root = self.root()
        if root.id not in self._near:
            (self._near[root.id],) = self._reader.read([root])
        return self._near[root.id]


class _Queue:
    """The edits of a level, read in batches, and their nodes with them."""

    def __init__(self, edits: Iterable[_Edit], cursor: _Cursor) -> None:
        self._edits = iter(edits)
        self._cursor = cursor
        self._batch: list[_Edit] = []
        self._keys: list[str] = []
        self._previous = ""

    def next_key(self) -> str | None:
        """The key of the first edit that has not been taken."""
        if not self._batch:
            self._batch = list(islice(self._edits, _READ_AHEAD))
            self._keys = [key for key, _ in self._batch]
            if self._keys:
                check_order(self._previous, self._keys)
                self._previous = self._keys[-1]
                self._cursor.prefetch(self._keys)
        return self._keys[0] if self._keys else None

    def take(self, bound: str | None) -> Iterator[list[_Edit]]:
        """Take the edits up to and including `bound`, or all of them."""
        while (first := self.next_key()) is not None and (bound is None or first <= bound):
            stop = len(self._keys) if bound is None else bisect_right(self._keys, bound)
            taken, self._batch = self._batch[:stop], self._batch[stop:]
            del self._keys[:stop]
            yield taken
