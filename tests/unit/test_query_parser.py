from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from acai.model.errors import InvalidQuery
from acai.model.metadata import EntityKind
from acai.model.query import format_query, parse_query
from acai.model.query.ast import (
    And,
    Between,
    Boolean,
    Comparator,
    Compare,
    Condition,
    Day,
    Duration,
    Extreme,
    Has,
    In,
    Instant,
    Key,
    Literal,
    Matches,
    Me,
    Not,
    Number,
    Or,
    Query,
    Relation,
    RelativeDay,
    RelativeTime,
    Size,
    Sort,
    Tags,
    Text,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "queries.md"


def condition(text: str, kind: EntityKind = EntityKind.SET) -> Condition:
    parsed = parse_query(text, kind).condition
    assert parsed is not None
    return parsed


def literal(text: str) -> Literal:
    parsed = condition(f"k = {text}")
    assert isinstance(parsed, Compare)
    return parsed.value


def k(name: str = "k", relation: Relation | None = None) -> Key:
    return Key(name=name, relation=relation)


def equal(name: str, value: Literal) -> Compare:
    return Compare(subject=k(name), comparator=Comparator.EQUAL, value=value)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_the_empty_query_asks_for_everything(text: str) -> None:
    assert parse_query(text, EntityKind.JOB) == Query()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'BERT'", Text(value="BERT")),
        ('"BERT"', Text(value="BERT")),
        ("'it''s'", Text(value="it's")),
        ('"say ""hi"""', Text(value='say "hi"')),
        ("'it\"s'", Text(value='it"s')),
        (r"'\d+\'", Text(value=r"\d+" + "\\")),
        ("''", Text(value="")),
        ("'today'", Text(value="today")),
        ("'5'", Text(value="5")),
        ("BERT", Text(value="BERT")),
        ("bert-base", Text(value="bert-base")),
        ("text/plain", Text(value="text/plain")),
        ("/data/x@y:1", Text(value="/data/x@y:1")),
        ("größe", Text(value="größe")),
        ("job-7kq2m9xw4t", Text(value="job-7kq2m9xw4t")),
        ("3f" * 32, Text(value="3f" * 32)),
        ("nan", Text(value="nan")),
        ("5", Number(value=5)),
        ("-5", Number(value=-5)),
        ("+5", Number(value=5)),
        ("0", Number(value=0)),
        ("0.5", Number(value=0.5)),
        (".5", Number(value=0.5)),
        ("1e-5", Number(value=1e-5)),
        ("-2.5E3", Number(value=-2500.0)),
        ("true", Boolean(value=True)),
        ("FALSE", Boolean(value=False)),
        ("me", Me()),
        ("90s", Duration(seconds=90)),
        ("500ms", Duration(seconds=0.5)),
        ("15m", Duration(seconds=900)),
        ("1.5h", Duration(seconds=5400)),
        ("1h30m", Duration(seconds=5400)),
        ("7d", Duration(seconds=604800)),
        ("2w", Duration(seconds=1209600)),
        ("1KB", Size(bytes=1000)),
        ("1KiB", Size(bytes=1024)),
        ("1.5MB", Size(bytes=1_500_000)),
        ("2GB", Size(bytes=2_000_000_000)),
        ("2GiB", Size(bytes=2 * 2**30)),
        ("1tb", Size(bytes=10**12)),
        ("12B", Size(bytes=12)),
        ("today", RelativeDay(days_ago=0)),
        ("Yesterday", RelativeDay(days_ago=1)),
        ("now", RelativeTime(seconds_ago=0)),
        ("-7d", RelativeTime(seconds_ago=604800)),
        ("-90m", RelativeTime(seconds_ago=5400)),
        ("2026-05-01", Day(value=date(2026, 5, 1))),
        ("2026-05-01T12:30", Instant(value=datetime(2026, 5, 1, 12, 30, tzinfo=UTC))),
        ("2026-05-01T12:30:15Z", Instant(value=datetime(2026, 5, 1, 12, 30, 15, tzinfo=UTC))),
        ("2026-05-01T12:30:00+02:00", Instant(value=datetime(2026, 5, 1, 10, 30, tzinfo=UTC))),
        ("2026-05-01T12:30:00-0530", Instant(value=datetime(2026, 5, 1, 18, 0, tzinfo=UTC))),
    ],
)
def test_literals(text: str, value: Literal) -> None:
    assert literal(text) == value
    assert type(literal(text)) is type(value)
    assert condition(f"k={text}") == equal("k", value)


A, B, C = (equal(name, Number(value=at)) for at, name in enumerate("abc", start=1))
ONE, TWO = Number(value=1), Number(value=2)


def related(name: str, value: Literal) -> Compare:
    return Compare(subject=k(name, Relation.JOB), comparator=Comparator.EQUAL, value=value)


def tagged(tag: str, relation: Relation | None = None) -> Compare:
    subject = Tags(relation=relation)
    return Compare(subject=subject, comparator=Comparator.EQUAL, value=Text(value=tag))


def matching(key: Key, pattern: str, negated: bool = False) -> Matches:
    return Matches(subject=key, pattern=Text(value=pattern), negated=negated)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1 or b = 2 and c = 3", Or(operands=(A, And(operands=(B, C))))),
        ("(a = 1 or b = 2) and c = 3", And(operands=(Or(operands=(A, B)), C))),
        ("not a = 1 and b = 2", And(operands=(Not(operand=A), B))),
        ("not (a = 1 and b = 2)", Not(operand=And(operands=(A, B)))),
        (
            "NOT Has reviewed AND tag = baseline",
            And(operands=(Not(operand=Has(subject=k("reviewed"))), tagged("baseline"))),
        ),
        (
            "k between 1 and 2 and b = 2",
            And(operands=(Between(subject=k(), low=ONE, high=TWO), B)),
        ),
        ("k not between 1 and 2", Between(subject=k(), low=ONE, high=TWO, negated=True)),
        ("k in (a, 'b')", In(subject=k(), values=(Text(value="a"), Text(value="b")))),
        ("k not in (1)", In(subject=k(), values=(ONE,), negated=True)),
        ("tag in (a, b)", In(subject=Tags(), values=(Text(value="a"), Text(value="b")))),
        ("has tag", Has(subject=Tags())),
        ("`tag` = a", equal("tag", Text(value="a"))),
        ("`order` = a", equal("order", Text(value="a"))),
        ("`job.x` = a", equal("job.x", Text(value="a"))),
        ("train.loss = 1", equal("train.loss", ONE)),
        ("job.tag = a", tagged("a", Relation.JOB)),
        ("job.model ~ '^b'", matching(k("model", Relation.JOB), "^b")),
        ("job.`limit` !~ b", matching(k("limit", Relation.JOB), "b", negated=True)),
        ("job.args.epochs = 1", related("args.epochs", ONE)),
        ("k == 1", equal("k", ONE)),
        ("k <> 1", Compare(subject=k(), comparator=Comparator.NOT_EQUAL, value=ONE)),
        ("me = me", equal("me", Me())),
    ],
)
def test_conditions(text: str, expected: Condition) -> None:
    assert condition(text) == expected


def test_order_limit_and_extremes() -> None:
    assert parse_query("order by p desc, create_time limit 20", EntityKind.SET) == Query(
        order=(Sort(key=k("p"), descending=True), Sort(key=k("create_time"))), limit=20
    )
    assert parse_query("a = 1 ORDER BY p ASC", EntityKind.SET).order == (Sort(key=k("p")),)
    assert parse_query("max p", EntityKind.SET) == Query(extreme=Extreme(key=k("p"), largest=True))
    assert parse_query("a = 1 min p", EntityKind.SET) == Query(
        condition=equal("a", Number(value=1)), extreme=Extreme(key=k("p"), largest=False)
    )


def test_positions_point_into_the_text() -> None:
    text = "  a = 1 and\nnot job.b > 'x' order by c"
    query = parse_query(text, EntityKind.SET)
    assert isinstance(query.condition, And)
    first, second = query.condition.operands
    assert isinstance(first, Compare) and isinstance(second, Not)
    assert isinstance(second.operand, Compare)
    assert (first.subject.position, first.value.position) == (2, 6)
    assert second.position == text.index("not")
    assert second.operand.subject.position == text.index("job.b")
    assert second.operand.value.position == text.index("'x'")
    assert query.order[0].position == text.index("c", text.index("by"))


S, J, F = EntityKind.SET, EntityKind.JOB, EntityKind.FILE


@pytest.mark.parametrize(
    ("kind", "text", "position", "words"),
    [
        (S, "precision >", 11, "expected a value after '>' at column 12"),
        (S, "precision", 9, "has precision"),
        (S, "= 5", 0, "a condition"),
        (S, "a = 5 b = 6", 6, "'and', 'or', 'max'"),
        (S, "(a = 5", 6, "'and', 'or' or ')'"),
        (S, "a = 5)", 5, "the end of the query"),
        (S, "a = 5 and", 9, "a condition after 'and'"),
        (S, "a not = 5", 6, "'in' or 'between'"),
        (S, "a = max", 4, "quote it: 'max'"),
        (S, "limit = 5", 6, "backticks: `limit`"),
        (S, "a = 5 and max b", 10, "without an 'and'"),
        (S, "a between 1", 11, "'and'"),
        (S, "a between 1 and 'x'", 16, "another number"),
        (S, "a between 1h and 2MB", 17, "another duration"),
        (S, "a between 5 and 2", 16, "smaller value first"),
        (S, "a between -1d and -7d", 18, "smaller value first"),
        (S, "a in ()", 6, "a value"),
        (S, "a in (1, 2", 10, "',' or ')'"),
        (S, "a in (1, 'x')", 9, "another number"),
        (S, "order a", 6, "'by'"),
        (S, "order by", 8, "a key"),
        (S, "order by tag", 9, "a key of the set itself"),
        (S, "order by job.cost", 9, "a key of the set itself"),
        (S, "max job.cost", 4, "a key of the set itself"),
        (S, "limit", 5, "a whole number"),
        (S, "limit -1", 6, "a whole number from 1"),
        (S, "limit 0", 6, "a whole number from 1"),
        (S, "limit 1.5", 6, "a whole number from 1"),
        (S, "limit 99999999999", 6, "a whole number from 1"),
        (S, "limit 5 limit 6", 8, "the end of the query"),
        (S, "max a limit 3", 6, "order by"),
        (S, "max a order by b", 6, "the end of the query"),
        (S, "size > 'abc'", 7, "a size such as"),
        (S, "size > 2h", 7, "a size such as"),
        (S, "size = true", 7, "a size such as"),
        (S, "create_time > 5", 14, "a time such as"),
        (S, "create_time > 7d", 14, "-7d"),
        (S, "create_time > '2026-05-01'", 14, "without quotes"),
        (S, "version = one", 10, "a number"),
        (S, "name = 2024", 7, "a text in quotes"),
        (S, "name in (a, 5)", 12, "a text in quotes"),
        (J, "runtime > 2GB", 10, "a duration such as"),
        (J, "runtime > -7d", 10, "a duration such as"),
        (J, "status = 5", 9, "a text in quotes"),
        (S, "job.runtime > abc", 14, "a duration such as"),
        (J, "input.size > abc", 13, "a size such as"),
        (S, "flag > true", 7, "'=' or '!='"),
        (S, "tag > a", 0, "tag = NAME"),
        (S, "tag = 5", 6, "a text in quotes"),
        (S, "create_time in (today)", 16, "whole day"),
        (S, "size ~ 'a'", 0, "not a text"),
        (S, "name ~ 5", 7, "a pattern in quotes"),
        (S, "name ~ 'a(b'", 9, "a closing ')'"),
        (S, "name ~ 'a(?=b)'", 9, "(?:"),
        (S, r"name ~ '(a)\1'", 11, "not supported"),
        (S, r"name ~ 'it''s \b'", 14, "not supported"),
        (S, "name ~ '((a{200}){200})'", 8, "too large"),
        (S, "input.name = a", 0, "job.KEY"),
        (J, "job.name = a", 0, "input.KEY"),
        (F, "job.name = a", 0, "backticks"),
        (S, "jobs.name = a", 0, "job.KEY"),
        (S, "job.input.name = a", 4, "two relations"),
        (S, "job. = a", 0, "is not a key"),
        (S, "é = 5", 0, "is not a key"),
        (S, "`a b` = 5", 0, "is not a key"),
        (S, "k = 2hours", 4, "in quotes: '2hours'"),
        (S, "k = 5M", 4, "in quotes: '5M'"),
        (S, "k = 007", 4, "in quotes: '007'"),
        (S, "k = a;b", 4, "needs quotes"),
        (S, "k = 99999999999999999999", 4, "2**53"),
        (S, "k = 1e999", 4, "finite"),
        (S, "k = 99999TB", 4, "2**53"),
        (S, "k = -999999999d", 4, "thousand years"),
        (S, "k = 2026-02-30", 4, "not a time"),
        (S, "k = 'open", 4, "a closing '"),
        (S, 'k = "open', 4, 'a closing "'),
        (S, "`open = 5", 0, "a closing '`'"),
        (S, "k ! 5", 2, "'!='"),
        (S, "k = 'a\x00'", 6, "U+0000"),
        (S, "k = \ud800", 4, "U+D800"),
        (S, "(" * 65 + "a = 1" + ")" * 65, 64, "nested more than 64"),
        (S, "not " * 65 + "a = 1", 256, "nested more than 64"),
        (S, "a = '" + "x" * 20_000 + "'", 16_384, "shorten it"),
        (S, " or ".join(["a=1"] * 300), 256 * 7, "more than 256 conditions"),
    ],
)
def test_refused_queries(kind: EntityKind, text: str, position: int, words: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(text, kind)
    error = caught.value
    assert words in error.message
    assert error.detail["position"] == position
    assert error.detail["expected"] and all(error.detail["expected"])
    assert not re.search(r"QUOTED_KEY|QUANTITY|_LPAR|COMPARE|\$END|WORD", error.message)
    error.message.encode()
    error.detail["query"].encode()


def test_deep_but_legal_nesting_parses() -> None:
    text = "(" * 64 + "a = 1" + ")" * 64
    assert condition(text) == equal("a", Number(value=1))
    assert parse_query(" and ".join(["not (a = 1)"] * 200), S).condition is not None


def test_every_query_in_the_documentation_parses() -> None:
    blocks = re.findall(r"```(\w*)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    kinds = {"files": EntityKind.FILE, "sets": EntityKind.SET, "jobs": EntityKind.JOB}
    assert {kind for kind, _ in blocks} >= {*kinds, "refused"}
    for kind, block in blocks:
        for line in filter(None, block.splitlines()):
            text = line.partition("   # ")[0].rstrip()
            if kind == "refused":
                with pytest.raises(InvalidQuery):
                    parse_query(text, EntityKind.SET)
            else:
                query = parse_query(text, kinds[kind])
                assert parse_query(format_query(query), kinds[kind]) == query
