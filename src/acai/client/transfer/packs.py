"""Pure planning: which blobs travel together, and which bytes are fetched together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

MIB = 1024 * 1024


class Sized(Protocol):
    @property
    def size(self) -> int: ...


B = TypeVar("B", bound=Sized)


class Packer(Generic[B]):
    """Fills packs in the order of arrival. A pack has at most `most_bytes` and `most_blobs`.

    A blob larger than a whole pack gets one of its own.
    """

    def __init__(self, *, most_bytes: int, most_blobs: int) -> None:
        self.most_bytes = most_bytes  # may be changed while it fills
        self._most_blobs = most_blobs
        self._blobs: list[B] = []
        self._size = 0

    def add(self, blob: B) -> list[B] | None:
        """The pack that this blob no longer fits into, if there is one."""
        full = None
        if self._blobs and (
            self._size + blob.size > self.most_bytes or len(self._blobs) >= self._most_blobs
        ):
            full = self.flush()
        self._blobs.append(blob)
        self._size += blob.size
        return full

    def flush(self) -> list[B] | None:
        """What has been gathered since the last pack."""
        rest, self._blobs, self._size = self._blobs, [], 0
        return rest or None

    @property
    def size(self) -> int:
        return self._size


class Piece(NamedTuple):
    """A blob inside an object."""

    sha256: str
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


class Run(NamedTuple):
    """Neighbouring pieces of one object that are fetched by one request."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


def plan_runs(pieces: Iterable[Piece], *, most_bytes: int, most_gap: int) -> Iterator[Run]:
    """Requests for these pieces: gaps up to `most_gap` are read over, rather than asked round.

    No run is longer than `most_bytes`, unless a single piece is.
    """
    group: list[Piece] = []
    for piece in sorted(pieces, key=lambda each: (each.start, each.size)):
        if group and (
            piece.start - group[-1].end > most_gap or piece.end - group[0].start > most_bytes
        ):
            yield _run(group)
            group = []
        group.append(piece)
    if group:
        yield _run(group)


def _run(group: Sequence[Piece]) -> Run:
    return Run(group[0].start, max(piece.end for piece in group), tuple(group))


def segments(size: int, step: int) -> list[tuple[int, int]]:
    """`size` bytes cut into (start, end) pieces of `step`, the last one shorter."""
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def joined(blobs: Iterable[bytes], step: int = MIB) -> Iterator[bytes]:
    """Many small blobs as fewer, larger ones, so that sending costs few calls."""
    group: list[bytes] = []
    size = 0
    for blob in blobs:
        group.append(blob)
        size += len(blob)
        if size >= step:
            yield b"".join(group)
            group, size = [], 0
    if group:
        yield b"".join(group)
