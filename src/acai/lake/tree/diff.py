"""The difference of two trees, at the cost of what differs.

Both trees are walked level by level. A chunk that stands in both is the same subtree and is
dropped from both; only what remains is read. At the bottom the leaves that remain are
streamed side by side.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import dropwhile, islice

from acai.lake.tree.chunks import ChunkStore
from acai.lake.tree.nodes import read_nodes
from acai.lake.tree.read import NodeReader, covering, entries_of, look_up
from acai.lake.tree.values import Change, Entry, Root

_READ_AHEAD = 512


def diff(
    store: ChunkStore, before: Root, after: Root, *, beyond: str | None = None
) -> Iterator[Change]:
    """The paths on which the trees differ, in order; only those above `beyond`, if it is given.

    Differing inner nodes are read before the first change comes; leaves as they are consumed.
    """
    old, new = _differing_leaves(store, before, after, beyond)
    changes = _compare(entries_of(store, old), entries_of(store, new))
    return changes if beyond is None else dropwhile(lambda one: one.path <= beyond, changes)


def additions(store: ChunkStore, base: Root, other: Root) -> Iterator[Change]:
    """Of `diff(base, other)`, the changes to paths that `other` holds.

    Only `other` is walked, and the base is looked up, so that a small tree is compared with a
    large one at the cost of the small one.
    """
    reader = NodeReader(store)
    entries = entries_of(store, _leaves_apart(store, reader, base, other))
    while batch := list(islice(entries, _READ_AHEAD)):
        held = look_up(reader, base, [path for path, _ in batch])
        for path, entry in batch:
            before = held.get(path)
            if before != entry:
                yield Change(path, before, entry)


def _differing_leaves(
    store: ChunkStore, before: Root, after: Root, beyond: str | None
) -> tuple[list[Root], list[Root]]:
    if before.id == after.id:
        return [], []
    old, new = [before], [after]
    old_level, new_level = (top.level for top in read_nodes(store, [before, after]))
    while old_level or new_level:
        descend_old, descend_new = old_level >= new_level, new_level >= old_level
        if descend_old:
            old, old_level = _children(store, old, beyond), old_level - 1
        if descend_new:
            new, new_level = _children(store, new, beyond), new_level - 1
        if old_level == new_level:
            shared = {root.id for root in old} & {root.id for root in new}
            old = [root for root in old if root.id not in shared]
            new = [root for root in new if root.id not in shared]
    return old, new


def _children(store: ChunkStore, roots: list[Root], beyond: str | None) -> list[Root]:
    """The subtrees of these, but for those that end before `beyond`."""
    nodes = read_nodes(store, roots)
    if beyond is None:
        return [child for node in nodes for child in node.roots]
    return [child for node in nodes for child in node.roots[bisect_right(node.keys, beyond) :]]


def _leaves_apart(store: ChunkStore, reader: NodeReader, base: Root, other: Root) -> list[Root]:
    """The leaves of `other` that are not leaves of `base`.

    A subtree can stand in the base only where the base holds the subtree's last key.
    """
    (top,) = read_nodes(store, [other])
    parts = [(key, other) for key in top.keys[-1:]]
    for level in range(top.level, -1, -1):
        there = covering(reader, base, level, [key for key, _ in parts])
        shared = {root.id for root, _ in there}
        parts = [(key, root) for key, root in parts if root.id not in shared]
        if level > 0:
            nodes = read_nodes(store, [root for _, root in parts])
            parts = [pair for node in nodes for pair in zip(node.keys, node.roots, strict=True)]
    return [root for _, root in parts]


def _compare(
    old: Iterator[tuple[str, Entry]], new: Iterator[tuple[str, Entry]]
) -> Iterator[Change]:
    left, right = next(old, None), next(new, None)
    while left is not None and right is not None:
        if left[0] == right[0]:
            if left[1] != right[1]:
                yield Change(left[0], left[1], right[1])
            left, right = next(old, None), next(new, None)
        elif left[0] < right[0]:
            yield Change(left[0], left[1], None)
            left = next(old, None)
        else:
            yield Change(right[0], None, right[1])
            right = next(new, None)
    while left is not None:
        yield Change(left[0], left[1], None)
        left = next(old, None)
    while right is not None:
        yield Change(right[0], None, right[1])
        right = next(new, None)
