"""What is no code: patterns as in .gitignore, of which the last that matches decides."""

from __future__ import annotations

import re
from collections.abc import Iterable

DEFAULTS = (
    ".git/",
    ".hg/",
    ".svn/",
    ".venv/",
    "venv/",
    "node_modules/",
    "__pycache__/",
    "*.pyc",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".ipynb_checkpoints/",
    ".DS_Store",
    ".acaiignore",
)
_SPECIAL = re.compile(r"[\\\]\[&~|^]")  # in a set of characters, to some regular expressions
_NEVER = "(?!)"
_PIECES = re.compile(r"\*\*/|/\*\*\Z|\*|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)


class Ignored:
    """Decides by the path below the directory that the patterns stand in.

    `*` and `?` stay within a name, `**` crosses directories; a pattern with a slash before its
    end holds from the directory on, any other at every depth; one that ends in a slash means
    directories only; `!` takes back what a pattern before it left out.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._rules = [rule for line in patterns if (rule := _rule(line)) is not None]

    def skips(self, path: str, *, is_directory: bool) -> bool:
        skipped = False
        for pattern, directories_only, takes_back in self._rules:
            if (is_directory or not directories_only) and pattern.fullmatch(path):
                skipped = not takes_back
        return skipped


def _rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    text = line.rstrip("\r\n")
    if not text.endswith("\\ "):
        text = text.rstrip(" ")
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text.removeprefix("!")
    directories_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anywhere = "" if "/" in text else "(?:.*/)?"
    body = "".join(_translated(piece) for piece in _PIECES.findall(text.lstrip("/")))
    try:
        return re.compile(anywhere + body, re.DOTALL), directories_only, takes_back
    except re.error:  # such as a range that goes backwards, which no name lies in
        return None


def _translated(piece: str) -> str:
    if piece == "**/":
        return "(?:.*/)?"
    if piece == "/**":
        return "/.*"
    if piece == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece.startswith("[") and len(piece) > 2:
        negated = piece[1] in "!^"
        inside = _SPECIAL.sub(r"\\\g<0>", piece[1 + negated : -1])
        return f"(?!/)[{'^' * negated}{inside}]" if inside else _NEVER
    return re.escape(piece[1:] if piece.startswith("\\") and len(piece) == 2 else piece)
