"""What a token looks like, and how it is kept.

`acai_LOOKUP_SECRET`: the lookup part finds the row, the secret part (160 bits) proves it. Only
a SHA-256 of the whole is stored; a random secret of this length needs no slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from acai.model.ids import random_word

_TOKEN = re.compile(r"acai_([a-z0-9]{12})_([a-z0-9]{34})\Z")


@dataclass(frozen=True, kw_only=True)
class Token:
    text: str
    lookup: str
    hash: str

    def __repr__(self) -> str:
        return f"Token(acai_{self.lookup}_…)"


def new_token() -> Token:
    lookup = random_word(12)
    return _token(lookup, f"acai_{lookup}_{random_word(34)}")


def parse_token(text: str) -> Token | None:
    match = _TOKEN.match(text)
    return None if match is None else _token(match[1], text)


def _token(lookup: str, text: str) -> Token:
    return Token(text=text, lookup=lookup, hash=hashlib.sha256(text.encode()).hexdigest())


def same_hash(presented: str, stored: str) -> bool:
    return hmac.compare_digest(presented, stored)
