"""From text to tokens. Words are split by spaces and operators only, and classified after,
so that `-7d`, `1e-5`, `2026-05-01T12:00:00+02:00` and `bert-base` are each one token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from acai.model.errors import InvalidQuery
from acai.model.query.ast import Relation

MAX_QUERY_CHARACTERS = 16_384
MAX_NESTING = 64
KEYWORDS = frozenset(
    [
        "and",
        "or",
        "not",
        "in",
        "between",
        "has",
        "order",
        "by",
        "limit",
        "max",
        "min",
        "asc",
        "desc",
    ]
)
# Before a dot these are a relation, or likely a slip for one: plurals, and kinds of things.
# A key may hold a dot, so any other prefix is part of a key.
RELATION_SLIPS = frozenset(["jobs", "inputs", "outputs", "set", "sets", "file", "files"])
RELATION_LIKE = RELATION_SLIPS | set(Relation)

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<STRING>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<QUOTED_KEY>(?:(?:job|input|output)\.)?`[^`]*`)
    | (?P<COMPARE><=|>=|!=|<>|==|=|<|>)
    | (?P<MATCH>!?~)
    | (?P<_LPAR>\()
    | (?P<_RPAR>\))
    | (?P<_COMMA>,)
    | (?P<WORD>[^\s'"`(),=!<>~]+)
    """,
    re.VERBOSE,
)
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_QUANTITY_START = frozenset("0123456789+-.")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is a terminal of the grammar."""

    kind: str
    text: str
    position: int


def tokenize(query: str) -> list[Token]:
    """The tokens, or InvalidQuery for text that is too long, too nested, or no text at all."""
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidQuery(
            f"The query has {len(query)} characters; shorten it to {MAX_QUERY_CHARACTERS}",
            position=MAX_QUERY_CHARACTERS,
            expected=["a shorter query"],
            query=query[:200] + "…",
        )
    bad = _NOT_TEXT.search(query)
    if bad:
        raise InvalidQuery(
            f"The query has the character U+{ord(bad[0]):04X} at column {bad.start() + 1}; "
            "remove it",
            position=bad.start(),
            expected=["text"],
            query=query.replace("\x00", " ").encode("utf-8", "replace").decode(),
        )
    tokens: list[Token] = []
    position = 0
    while position < len(query):
        match = _TOKEN.match(query, position)
        if match is None:
            raise _no_token(query, position)
        if match.lastgroup != "space":
            tokens.append(_token(str(match.lastgroup), match[0], position))
        position = match.end()
    _check_nesting(tokens, query)
    return tokens


def is_quantity(word: str) -> bool:
    """Whether a bare word has to be a number, a duration, a size or a time.

    A SHA-256 does not, although it may start with a digit: it is pasted too often.
    """
    return word[0] in _QUANTITY_START and not _HASH.fullmatch(word)


def written_at(query: str, position: int) -> str:
    """The token that starts at `position`, as the user wrote it."""
    match = _TOKEN.match(query, position)
    return match[0] if match else query[position:]


def _token(kind: str, text: str, position: int) -> Token:
    if kind != "WORD":
        return Token(kind, text, position)
    if text.lower() in KEYWORDS:
        return Token(text.upper(), text, position)
    if is_quantity(text):
        return Token("QUANTITY", text, position)
    return Token(kind, text, position)


def _no_token(query: str, position: int) -> InvalidQuery:
    character = query[position]
    if character == "!":
        problem, expected = "'!' stands alone", ["'!='", "'!~'", "'not'"]
    elif character == "`":
        problem, expected = "the backtick is never closed", ["a closing '`'"]
    else:
        problem = f"the quote {character} is never closed"
        expected = [f"a closing {character} (one inside the text is doubled: {character * 2})"]
    return InvalidQuery(
        f"Invalid query: {problem} at column {position + 1}; expected {' or '.join(expected)}",
        position=position,
        expected=expected,
        query=query,
    )


def _check_nesting(tokens: list[Token], query: str) -> None:
    open_groups: list[int] = []
    depth = 0
    negations = 0
    for token in tokens:
        if token.kind == "NOT":
            negations += 1
        elif token.kind == "_LPAR":
            open_groups.append(negations + 1)
            depth += negations + 1
            negations = 0
        else:
            negations = 0
            if token.kind == "_RPAR" and open_groups:
                depth -= open_groups.pop()
        if depth + negations > MAX_NESTING:
            raise InvalidQuery(
                f"The query is nested more than {MAX_NESTING} deep at column {token.position + 1}; "
                "remove parentheses or 'not's",
                position=token.position,
                expected=["less nesting"],
                query=query,
            )
