"""From the parser's tree to the AST, with every check that needs no store."""

from __future__ import annotations

import re
from typing import cast

from lark import Token, Tree

from acai.model.errors import InvalidInput, InvalidQuery
from acai.model.metadata import KEY, EntityKind
from acai.model.query.ast import (
    And,
    Between,
    Comparator,
    Compare,
    Condition,
    Extreme,
    Has,
    In,
    Key,
    Literal,
    Matches,
    Not,
    Or,
    Predicate,
    Query,
    Relation,
    Sort,
    Subject,
    Tags,
    Text,
)
from acai.model.query.check import Checker
from acai.model.query.lexer import RELATION_LIKE, RELATION_SLIPS
from acai.model.query.literals import read_string, read_word

MAX_PREDICATES = 256
MAX_LIMIT = 1_000_000_000

_KEY = re.compile(KEY)
_SYNONYMS = {"==": "=", "<>": "!="}
_Tree = Tree[Token]


class Builder:
    def __init__(self, query: str, kind: EntityKind) -> None:
        self.checker = Checker(query, kind)
        self.predicates = 0

    def query(self, tree: _Tree) -> Query:
        parts = {str(child.data): child for child in _trees(tree)}
        sorts = parts.pop("order", None)
        extreme = parts.pop("extreme", None)
        limit = parts.pop("limit", None)
        condition = next(iter(parts.values()), None)
        if extreme is not None and (sorts is not None or limit is not None):
            clash = sorts if sorts is not None else cast(_Tree, limit)
            word = _first(extreme)
            raise self.checker.refuse(
                _first(clash).start_pos or 0,
                f"'{word}' already asks for one entity, in its order",
                ["the end of the query", "'order by … limit N' in place of it"],
            )
        return Query(
            condition=None if condition is None else self.condition(condition),
            extreme=None if extreme is None else self._extreme(extreme),
            order=() if sorts is None else tuple(self._sort(each) for each in _trees(sorts)),
            limit=None if limit is None else self._limit(limit),
        )

    def condition(self, tree: _Tree) -> Condition:
        match str(tree.data):
            case "disjunction":
                return Or(operands=tuple(self.condition(each) for each in _trees(tree)))
            case "conjunction":
                return And(operands=tuple(self.condition(each) for each in _trees(tree)))
            case "negation":
                position = _first(tree).start_pos or 0
                return Not(operand=self.condition(_trees(tree)[0]), position=position)
        return self._predicate(tree)

    def _predicate(self, tree: _Tree) -> Predicate:
        self.predicates += 1
        subject = self._subject(_first(_trees(tree)[0]))
        values = [self._value(_first(each)) for each in _trees(tree)[1:]]
        words = [child for child in tree.children if isinstance(child, Token)]
        negated = bool(words) and words[0].type == "NOT"
        at = subject.position
        predicate: Predicate
        match str(tree.data):
            case "has":
                predicate = Has(subject=subject, position=words[0].start_pos or 0)
            case "compare":
                comparator = Comparator(_SYNONYMS.get(words[0], words[0]))
                predicate = Compare(
                    subject=subject, comparator=comparator, value=values[0], position=at
                )
            case "matches":
                predicate = Matches(
                    subject=subject,
                    pattern=self._pattern(values[0]),
                    negated=words[0] == "!~",
                    position=at,
                )
            case "between":
                predicate = Between(
                    subject=subject, low=values[0], high=values[1], negated=negated, position=at
                )
            case _:
                predicate = In(subject=subject, values=tuple(values), negated=negated, position=at)
        if self.predicates > MAX_PREDICATES:
            raise self.checker.refuse(
                at,
                f"there are more than {MAX_PREDICATES} conditions",
                ["fewer conditions", "'in (…)'"],
            )
        self.checker.predicate(predicate)
        return predicate

    def _pattern(self, value: Literal) -> Text:
        if not isinstance(value, Text):
            raise self.checker.refuse(
                value.position, "'~' takes a regular expression", ["a pattern in quotes"]
            )
        return value

    def _value(self, token: Token) -> Literal:
        position = token.start_pos or 0
        if token.type == "STRING":
            return read_string(str(token), position)
        try:
            return read_word(str(token), position)
        except InvalidInput as error:
            raise InvalidQuery(
                f"Invalid query: at column {position + 1}, {error.message}",
                position=position,
                expected=["a value"],
                query=self.checker.query,
            ) from error

    def _subject(self, token: Token) -> Subject:
        position = token.start_pos or 0
        text = str(token)  # a plain one: what a query holds outlives its tokens
        if token.type == "QUOTED_KEY":
            prefix, _, name = text.rstrip("`").partition("`")
            relation = self._relation(prefix[:-1], position) if prefix else None
            return Key(name=self._name(name, position), relation=relation, position=position)
        prefix, dot, rest = text.partition(".")
        if not dot or prefix not in RELATION_LIKE:
            return self._named(text, None, position)
        relation = self._relation(prefix, position)
        if rest.partition(".")[0] in set(Relation) and "." in rest:
            raise self.checker.refuse(
                position + len(prefix) + 1,
                f"'{token}' goes through two relations",
                [f"{prefix}.KEY with a key of that entity"],
            )
        return self._named(rest, relation, position)

    def _named(self, name: str, relation: Relation | None, position: int) -> Subject:
        if name == "tag":
            return Tags(relation=relation, position=position)
        return Key(name=self._name(name, position), relation=relation, position=position)

    def _name(self, name: str, position: int) -> str:
        if not _KEY.fullmatch(name):
            raise self.checker.refuse(
                position,
                f"'{name}' is not a key",
                ["a key: letters, digits, '_', '.' and '-', starting with a letter or '_'"],
            )
        return name

    def _relation(self, prefix: str, position: int) -> Relation:
        if prefix in RELATION_SLIPS:
            raise self.checker.refuse(
                position,
                f"'{prefix}' is not a relation",
                ["job.KEY (of sets)", "input.KEY or output.KEY (of jobs)", "the key in backticks"],
            )
        relation = Relation(prefix)
        self.checker.relation(relation, position)
        return relation

    def _own_key(self, tree: _Tree, after: str) -> Key:
        subject = self._subject(_first(tree))
        if isinstance(subject, Tags) or subject.relation is not None:
            raise self.checker.refuse(
                subject.position,
                f"'{after}' cannot use '{_first(tree)}'",
                [f"a key of the {self.checker.kind} itself"],
            )
        return subject

    def _sort(self, tree: _Tree) -> Sort:
        key = self._own_key(_trees(tree)[0], "order by")
        last = tree.children[-1]
        descending = isinstance(last, Token) and last.type == "DESC"
        return Sort(key=key, descending=descending, position=key.position)

    def _extreme(self, tree: _Tree) -> Extreme:
        word = _first(tree)
        key = self._own_key(_trees(tree)[0], str(word).lower())
        return Extreme(key=key, largest=word.type == "MAX", position=word.start_pos or 0)

    def _limit(self, tree: _Tree) -> int:
        number = cast(Token, tree.children[1])
        if not re.fullmatch("[0-9]{1,10}", number) or not 1 <= int(number) <= MAX_LIMIT:
            raise self.checker.refuse(
                number.start_pos or 0,
                f"'{number}' is not a limit",
                [f"a whole number from 1 to {MAX_LIMIT}"],
            )
        return int(number)


def _trees(tree: _Tree) -> list[_Tree]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _first(tree: _Tree) -> Token:
    return cast(Token, tree.children[0])
