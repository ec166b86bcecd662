"""The values a set's tree is made of, and the values its operations return.

They are named tuples and not dataclasses because a million of them pass through a stream:
a frozen dataclass takes some ten times as long to make.
"""

from __future__ import annotations

from typing import NamedTuple

from acai.model.ids import Sha256


class Entry(NamedTuple):
    """What a set holds at a path: enough to fetch, show and compare a file without a query."""

    version: int
    sha256: bytes  # the 32 bytes of the digest, not its digits
    size: int
    id: int  # the row of the file version, for the server's joins

    @property
    def digest(self) -> Sha256:
        return Sha256(self.sha256.hex())


class Root(NamedTuple):
    """A tree, named by its top chunk, with the sums over everything below it.

    `id` is equal for equal maps. `content` is equal for equal maps from path to SHA-256, even
    when versions and rows differ: it is what "the same input" means to a job's cache.
    """

    id: bytes
    content: bytes
    file_count: int
    size: int


class Totals(NamedTuple):
    file_count: int
    size: int


class Change(NamedTuple):
    """A path on which two trees differ; None stands for absent."""

    path: str
    before: Entry | None
    after: Entry | None


class Claim(NamedTuple):
    """What one source of a merge, by its position in the list, says about a path."""

    source: int
    entry: Entry


class Conflict(NamedTuple):
    """Two sources of a merge that hold different versions of a path."""

    path: str
    earlier: Claim
    later: Claim
