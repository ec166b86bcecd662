"""Where a sorted run of keys is cut into chunks: pure, and by the keys alone.

A cut falls after the first key, at least `minimum` bytes and two keys into the chunk, whose
hash lies below a threshold that grows with the key's weight; or after the key that brings
the chunk to `maximum` bytes. Nothing that follows a key decides whether a cut falls after
it, and nothing before the chunk's first key does. So the cuts are a function of the keys and
not of the order in which they came; a changed value moves no cut; and after an inserted or
deleted key the old and the new cuts meet again at the first cut they have in common, as a
rule the very next one.

The weight of a key is its own length and a fixed share for its item. Prefixes are folded
later, so chunks come out smaller than they weigh, never larger.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate

from acai.lake.tree.nodes import Item, Node

ITEM_WEIGHT = 48
_HASH_SPAN = 1 << 32


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Sizes in bytes of weight. They belong to the format: a tree keeps the ones it was made by."""

    minimum: int
    target: int
    maximum: int


STANDARD = Cuts(minimum=1 << 11, target=1 << 12, maximum=1 << 14)


class Cutter:
    """Takes the keys of one level in order and gives back the nodes that are complete."""

    def __init__(self, level: int, cuts: Cuts) -> None:
        self.level = level
        self._cuts = cuts
        self._salt = bytes((level,))
        self._scale = _HASH_SPAN // (cuts.target - cuts.minimum)
        self._keys: list[str] = []
        self._items: list[Item] = []

    @property
    def pending(self) -> bool:
        """Whether keys wait for a cut. If none do, the next key begins a chunk."""
        return bool(self._keys)

    def feed(self, keys: Sequence[str], items: Sequence[Item]) -> list[Node]:
        self._keys += keys
        self._items += items
        nodes = []
        start = 0
        for stop in self._stops():
            nodes.append(Node(self.level, self._keys[start:stop], self._items[start:stop]))
            start = stop
        del self._keys[:start]
        del self._items[:start]
        return nodes

    def finish(self) -> list[Node]:
        """The last node, which the end of the data has cut, if there is one."""
        if not self._keys:
            return []
        last = Node(self.level, self._keys, self._items)
        self._keys, self._items = [], []
        return [last]

    def _stops(self) -> list[int]:
        encoded = [key.encode() for key in self._keys]
        weights = [len(key) + ITEM_WEIGHT for key in encoded]
        scale, salt, number = self._scale, self._salt, int.from_bytes
        marks = [
            index
            for index, key in enumerate(encoded)
            if number(blake2b(salt + key, digest_size=4).digest(), "big") < weights[index] * scale
        ]
        ends = list(accumulate(weights))
        stops: list[int] = []
        start = base = 0
        while True:
            earliest = max(bisect_left(ends, base + self._cuts.minimum, start), start + 1)
            latest = max(bisect_left(ends, base + self._cuts.maximum, start), start + 1)
            mark = bisect_left(marks, earliest)
            cut = min(marks[mark], latest) if mark < len(marks) else latest
            if cut >= len(ends):
                return stops
            start, base = cut + 1, ends[cut]
            stops.append(start)
