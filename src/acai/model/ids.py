"""Identifiers. Row ids are integers that never leave the server; public ids are short words."""

from __future__ import annotations

import secrets
from typing import NewType

ProjectId = NewType("ProjectId", int)
UserId = NewType("UserId", int)
FileId = NewType("FileId", int)
FileVersionId = NewType("FileVersionId", int)
SetVersionId = NewType("SetVersionId", int)
Sha256 = NewType("Sha256", str)  # 64 lower-case hexadecimal digits

# No vowels and no look-alikes: an id spells no word and survives being read aloud.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def random_word(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def public_id(prefix: str) -> str:
    """A new id such as `job-7kq2m9xw4t`: 47 bits, settled by a unique constraint."""
    return f"{prefix}-{random_word(10)}"
