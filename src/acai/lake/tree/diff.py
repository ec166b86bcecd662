"""The difference of two trees, at the cost of what differs.

Both trees are walked level by level. A chunk that stands in both is the same subtree and is
dropped from both; only what remains is read. At the bottom the leaves that remain are
streamed side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acai.lake.tree.chunks import ChunkStore
from acai.lake.tree.nodes import Node, read_nodes
from acai.lake.tree.read import entries_of
from acai.lake.tree.values import Change, Entry, Root


class _Part(NamedTuple):
    """A subtree, whose keys lie above `low` and up to `high`."""

    low: str
    high: str
    root: Root


def diff(store: ChunkStore, before: Root, after: Root) -> Iterator[Change]:
    """The paths on which the trees differ, in order.

    Differing inner nodes are read before the first change comes; leaves as they are consumed.
    """
    old, new = _remaining_leaves(store, before, after, one_sided=False)
    return _compare(entries_of(store, old), entries_of(store, new))


def additions(store: ChunkStore, base: Root, other: Root) -> Iterator[Change]:
    """Of `diff(base, other)`, the changes to paths that `other` holds.

    Parts of `base` in whose range `other` has nothing different are not read, so that a small
    tree is compared with a large one at the cost of the small one.
    """
    old, new = _remaining_leaves(store, base, other, one_sided=True)
    changes = _compare(entries_of(store, old), entries_of(store, new))
    return (change for change in changes if change.after is not None)


def _remaining_leaves(
    store: ChunkStore, before: Root, after: Root, *, one_sided: bool
) -> tuple[list[Root], list[Root]]:
    if before.id == after.id:
        return [], []
    old_top, new_top = read_nodes(store, [before, after])
    old_level, old = _whole(before, old_top)
    new_level, new = _whole(after, new_top)
    while True:
        if old_level == new_level:
            old, new = _cancel(old, new)
        if one_sided:
            old = list(_overlapping(old, new))
        if not (old_level or new_level):
            return [part.root for part in old], [part.root for part in new]
        descend_old, descend_new = old_level >= new_level, new_level >= old_level
        if descend_old:
            old, old_level = _children(store, old), old_level - 1
        if descend_new:
            new, new_level = _children(store, new), new_level - 1


def _whole(root: Root, top: Node) -> tuple[int, list[_Part]]:
    return top.level, [_Part("", top.keys[-1], root)] if top.keys else []


def _children(store: ChunkStore, parts: list[_Part]) -> list[_Part]:
    below: list[_Part] = []
    for part, node in zip(parts, read_nodes(store, (part.root for part in parts)), strict=True):
        lows = [part.low, *node.keys]
        below += map(_Part, lows, node.keys, node.roots)
    return below


def _cancel(old: list[_Part], new: list[_Part]) -> tuple[list[_Part], list[_Part]]:
    shared = {part.root.id for part in old} & {part.root.id for part in new}
    return (
        [part for part in old if part.root.id not in shared],
        [part for part in new if part.root.id not in shared],
    )


def _overlapping(parts: Iterable[_Part], others: list[_Part]) -> Iterator[_Part]:
    """The parts whose range meets that of one of `others`; both are in order."""
    at = 0
    for part in parts:
        while at < len(others) and others[at].high <= part.low:
            at += 1
        if at < len(others) and others[at].low < part.high:
            yield part


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
