"""The short way between a client and a directory store on the same host.

The store keeps a random word in a file that only those who reach its directory can read.
It tells the client where that file is and what it says; a client that reads the same word
there, and may write, puts its objects in place itself instead of sending them.
"""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass, field
from pathlib import Path

from acai.model.keys import check_key

PRIVATE = ".acai"  # below the root: what the store keeps for itself
_PROBE = Path(PRIVATE) / "probe"
_SCRATCH = Path(PRIVATE) / "tmp"


@dataclass(frozen=True, kw_only=True)
class LocalGrant:
    """Where a directory store is, and the word that proves it is the same one.

    Only `root` and `word` come from the server. The names below the root are fixed here,
    so that a server cannot point the client at a file of its own choosing.
    """

    root: str
    word: str = field(repr=False)

    @property
    def scratch(self) -> Path:
        """Where unfinished files go; the store sweeps what is left here."""
        return Path(self.root) / _SCRATCH

    @property
    def probe(self) -> Path:
        return Path(self.root) / _PROBE

    def path(self, key: str) -> Path:
        """Where the object lies. Raises InvalidInput for a key that could leave the root."""
        return Path(self.root) / check_key(key)

    def readable(self) -> bool:
        """Whether this process sees the directory that the store speaks of."""
        root = Path(self.root)
        if len(self.word) < 16 or not root.is_absolute():
            return False
        try:
            found = self.probe.read_bytes()
        except OSError:
            return False
        return hmac.compare_digest(found, self.word.encode())

    def writable(self) -> bool:
        """Whether this process may also put objects there."""
        return self.readable() and all(
            os.access(place, os.W_OK | os.X_OK) for place in (self.root, self.scratch)
        )
