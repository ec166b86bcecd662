"""Names of objects in a store: `/`-separated ASCII that every store and file system takes.

A key is made by the platform, never by a user, so the alphabet is narrow. No component
begins with a dot: what a store keeps for itself lies under such names. A key is never
also the directory of another key (`a` beside `a/b`), which a directory cannot hold.
"""

from __future__ import annotations

import re

from acai.model.errors import InvalidInput
from acai.model.ids import random_word

_COMPONENT = r"[A-Za-z0-9_=+@,-][A-Za-z0-9._=+@,-]{0,199}"
_KEY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*", re.ASCII)
MAX_KEY_LENGTH = 512


def check_key(key: str) -> str:
    """Return `key`, or raise InvalidInput."""
    if len(key) > MAX_KEY_LENGTH or not _KEY.fullmatch(key):
        raise InvalidInput(
            f"{key[:80]!r} is not an object key; a key is a relative path of letters, digits "
            "and . _ = + @ , - without components that begin with a dot",
            key=key[:MAX_KEY_LENGTH],
        )
    return key


def check_prefix(prefix: str) -> str:
    """Return `prefix`: empty, or a key with a `/` after it. Raise InvalidInput otherwise."""
    if prefix and (not prefix.endswith("/") or check_key(prefix[:-1]) + "/" != prefix):
        raise InvalidInput(f"{prefix[:80]!r} is not a prefix of keys; end it with '/'")
    return prefix


def random_key(directory: str) -> str:
    """A new key below `directory`, spread over 729 directories so that none grows huge."""
    word = random_word(20)
    return f"{directory}/{word[:2]}/{word}"
