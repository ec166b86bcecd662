"""Text to query. The one entry for whatever a user writes."""

from __future__ import annotations

from typing import Any

from acai.model.errors import InvalidQuery
from acai.model.metadata import EntityKind
from acai.model.query.ast import Query
from acai.model.query.lexer import KEYWORDS, Token, tokenize

_CONDITION = {"WORD", "QUOTED_KEY", "NOT", "HAS", "_LPAR"}
_VALUE = {"WORD", "STRING", "QUANTITY"}
_KEY = {"WORD", "QUOTED_KEY"}
_COMPARISON = {"COMPARE", "MATCH", "NOT", "IN", "BETWEEN"}
# Keywords that people also choose as the name of a key.
_NAMES_TOO = {"LIMIT", "ORDER", "MAX", "MIN", "HAS"}
# In the order in which a sentence should name them.
_WORDS = {
    "AND": "'and'",
    "OR": "'or'",
    "_COMMA": "','",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "ASC": "'asc'",
    "DESC": "'desc'",
    "QUANTITY": "a whole number",
    "IN": "'in'",
    "BETWEEN": "'between'",
    "MAX": "'max'",
    "MIN": "'min'",
    "ORDER": "'order by'",
    "BY": "'by'",
    "LIMIT": "'limit'",
    "$END": "the end of the query",
}


def parse_query(text: str, kind: EntityKind) -> Query:
    """The query that `text` writes for one kind of entity; the empty text asks for everything.

    Raises InvalidQuery with `position` (0-based offset), `expected` (in words) and `query`.
    """
    tokens = tokenize(text)
    if not tokens:
        return Query()

    from lark import Token as LarkToken
    from lark import UnexpectedToken

    from acai.model.query.build import Builder
    from acai.model.query.grammar import PARSER

    def feed(count: int) -> Any:
        parser: Any = PARSER.parse_interactive()
        for fed, token in enumerate(tokens[:count]):
            try:
                parser.feed_token(LarkToken(token.kind, token.text, token.position))
            except UnexpectedToken:
                # A failed step has already reduced the stack: ask a fresh parser, which
                # stopped before it, for what would have been accepted.
                raise _unexpected(text, tokens, fed, feed(fed).accepts()) from None
        return parser

    parser = feed(len(tokens))
    if "$END" not in parser.accepts():
        raise _unexpected(text, tokens, len(tokens), parser.accepts())
    return Builder(text, kind).query(parser.feed_eof())


def _unexpected(text: str, tokens: list[Token], index: int, accepts: set[str]) -> InvalidQuery:
    found = tokens[index] if index < len(tokens) else None
    previous = tokens[index - 1] if index else None
    position = found.position if found else len(text)
    expected = _in_words(accepts)
    after = f" after '{_short(previous.text)}'" if previous else ""
    but = f"found '{_short(found.text)}'" if found else "the query ends there"
    message = (
        f"Invalid query: expected {_listed(expected)}{after} at column {position + 1}, but {but}"
    )
    return InvalidQuery(
        message + _hint(found, previous, accepts), position=position, expected=expected, query=text
    )


def _in_words(accepts: set[str]) -> list[str]:
    words = []
    rest = set(accepts)
    if rest >= _CONDITION:
        words.append("a condition")
        rest -= _CONDITION
    elif rest >= _VALUE:
        words.append("a value")
        rest -= _VALUE
    elif rest >= _COMPARISON:
        words.append("a comparison such as '=', '>', 'in', 'between' or '~'")
        rest -= _COMPARISON
    elif rest >= _KEY:
        words.append("a key")
        rest -= _KEY
    return words + [word for terminal, word in _WORDS.items() if terminal in rest]


def _hint(found: Token | None, previous: Token | None, accepts: set[str]) -> str:
    if previous and found and previous.kind in _NAMES_TOO and found.kind == "COMPARE":
        return f"; a key of that name is written in backticks: `{previous.text}`"
    keyword = found is not None and found.text.lower() in KEYWORDS
    if found is not None and keyword and accepts >= _VALUE:
        return f"; to compare with that word, quote it: '{found.text}'"
    if previous is not None and previous.kind == "AND" and found and found.kind in {"MAX", "MIN"}:
        return f"; '{found.text}' follows the conditions without an 'and'"
    if found is not None and keyword and accepts >= _KEY and found.kind not in _CONDITION:
        return f"; a key of that name is written in backticks: `{found.text}`"
    if previous is not None and previous.kind in _KEY and accepts >= _COMPARISON:
        return f"; to ask whether the key is present, write 'has {_short(previous.text)}'"
    return ""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
