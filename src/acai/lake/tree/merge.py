"""Several trees made into one.

The largest tree is the base. Of every other only what differs from the base is read, and the
base is edited by it, so that subtrees the sources share are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge as merge_sorted
from itertools import groupby, islice
from operator import itemgetter

from acai.lake.tree.chunks import ChunkStore
from acai.lake.tree.cuts import STANDARD, Cuts
from acai.lake.tree.diff import additions
from acai.lake.tree.edit import apply
from acai.lake.tree.nodes import EMPTY
from acai.lake.tree.read import get
from acai.lake.tree.values import Claim, Conflict, Entry, Root

_Dispute = tuple[str, list[Claim]]
_READ_AHEAD = 512


def merge(
    store: ChunkStore,
    roots: Sequence[Root],
    on_conflict: Callable[[Conflict], None],
    *,
    cuts: Cuts = STANDARD,
) -> Root:
    """The tree that holds every path of the sources; where they disagree, the last one wins.

    `on_conflict` is called once for each path on which two sources hold different entries, in
    order of path, with the claim that wins and the nearest earlier one that differs from it.
    It may raise, and nothing of the result is then to be relied on.
    """
    if not roots:
        return EMPTY
    base = max(range(len(roots)), key=lambda source: roots[source].file_count)
    changes = _resolve(store, roots, base, on_conflict)
    return apply(store, roots[base], changes, cuts=cuts)


def _resolve(
    store: ChunkStore,
    roots: Sequence[Root],
    base: int,
    on_conflict: Callable[[Conflict], None],
) -> Iterator[tuple[str, Entry | None]]:
    disputes = _disputes(store, roots, base)
    while batch := list(islice(disputes, _READ_AHEAD)):
        _add_late_claims(store, roots, base, batch)
        for path, claims in batch:
            winner = claims[-1]
            for claim in reversed(claims):
                if claim.entry != winner.entry:
                    on_conflict(Conflict(path, claim, winner))
                    break
            yield path, winner.entry


def _disputes(store: ChunkStore, roots: Sequence[Root], base: int) -> Iterator[_Dispute]:
    """The paths on which a source holds something that the base does not, with the claims."""
    streams = [
        _claims(store, roots, base, source) for source in range(len(roots)) if source != base
    ]
    for path, group in groupby(merge_sorted(*streams, key=itemgetter(0)), key=itemgetter(0)):
        claims: dict[int, Claim] = {}
        for _, claimed in group:
            claims.update((claim.source, claim) for claim in claimed)
        yield path, [claims[source] for source in sorted(claims)]


def _claims(store: ChunkStore, roots: Sequence[Root], base: int, source: int) -> Iterator[_Dispute]:
    for path, before, after in additions(store, roots[base], roots[source]):
        pair = ((base, before), (source, after))
        yield path, [Claim(at, entry) for at, entry in pair if entry is not None]


def _add_late_claims(
    store: ChunkStore, roots: Sequence[Root], base: int, disputes: Sequence[_Dispute]
) -> None:
    """Add the claims that agree with the base and come after all that were found.

    A source that agrees with the base shows no difference from it; but when it comes last, it
    is the one that wins.
    """
    for source in range(base + 1, len(roots)):
        contested = {
            path: claims
            for path, claims in disputes
            if claims[-1].source < source and any(claim.source == base for claim in claims)
        }
        if contested:
            for path, entry in get(store, roots[source], contested).items():
                contested[path].append(Claim(source, entry))
