from __future__ import annotations

from datetime import UTC

from hypothesis import example, given
from hypothesis import strategies as st

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

USER_KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,6}", fullmatch=True) | st.sampled_from(
    ["tag", "order", "NOT", "job.x", "sets.y", "me", "today", "true", "limit", "input.tag"]
)
NAMES = USER_KEYS.map(lambda name: f"u{name}" if name in {"id", "name", "size", "hash"} else name)
OWN_KEYS = st.builds(Key, name=NAMES)
# Keys of a job are free only outside its built-in ones, so relations use a fixed few.
RELATED = st.builds(
    Key,
    name=st.sampled_from(["model", "order", "tag", "x.y", "args.n"]),
    relation=st.just(Relation.JOB),
)
KEYS = OWN_KEYS | RELATED
TEXTS = st.builds(
    Text,
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
)
SECONDS = st.integers(0, 10**9) | st.decimals(0, 10**6, places=3).map(float)
NUMBERS = st.builds(
    Number, value=st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
)
BOOLEANS = st.builds(Boolean, value=st.booleans())
TIMES = st.builds(Instant, value=st.datetimes(timezones=st.just(UTC))) | st.builds(
    RelativeTime, seconds_ago=SECONDS
)
DAYS = st.builds(Day, value=st.dates()) | st.builds(RelativeDay, days_ago=st.integers(0, 1))
QUANTITIES = st.builds(Duration, seconds=SECONDS) | st.builds(Size, bytes=st.integers(0, 2**53))
ORDERED = TEXTS | NUMBERS | TIMES | DAYS | QUANTITIES
ORDERINGS = st.sampled_from([Comparator.LESS, Comparator.GREATER, Comparator.LESS_OR_EQUAL])
TAGS = st.builds(Tags, relation=st.none() | st.just(Relation.JOB))
PREDICATES = st.one_of(
    st.builds(Has, subject=KEYS | TAGS),
    st.builds(Compare, subject=KEYS, comparator=ORDERINGS, value=ORDERED),
    st.builds(
        Compare,
        subject=KEYS,
        comparator=st.sampled_from([Comparator.EQUAL, Comparator.NOT_EQUAL]),
        value=ORDERED | BOOLEANS | st.builds(Me),
    ),
    st.builds(Compare, subject=TAGS, comparator=st.just(Comparator.NOT_EQUAL), value=TEXTS),
    st.builds(
        In,
        subject=KEYS,
        values=st.one_of(
            *(
                st.lists(each, min_size=1, max_size=3).map(tuple)
                for each in (TEXTS, NUMBERS, TIMES, BOOLEANS)
            )
        ),
        negated=st.booleans(),
    ),
    st.builds(
        Between,
        subject=KEYS,
        low=st.builds(Number, value=st.integers(-9, 0)),
        high=st.builds(Number, value=st.floats(0, 9))
        | st.builds(Duration, seconds=st.integers(0, 9)),
        negated=st.booleans(),
    ),
    st.builds(
        Matches,
        subject=KEYS | TAGS,
        pattern=st.builds(Text, value=st.sampled_from(["^a'b$", r"\d+", "", "(a|b)*", '[^"]'])),
        negated=st.booleans(),
    ),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    PREDICATES,
    lambda inner: st.one_of(
        st.builds(Not, operand=inner),
        st.builds(And, operands=st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, operands=st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
QUERIES = st.one_of(
    st.builds(
        Query,
        condition=st.none() | CONDITIONS,
        order=st.lists(st.builds(Sort, key=OWN_KEYS, descending=st.booleans()), max_size=2).map(
            tuple
        ),
        limit=st.none() | st.integers(1, 10**9),
    ),
    st.builds(
        Query,
        condition=st.none() | CONDITIONS,
        extreme=st.builds(Extreme, key=OWN_KEYS, largest=st.booleans()),
    ),
)


@given(QUERIES)
def test_what_is_formatted_parses_back(query: Query) -> None:
    text = format_query(query)
    assert parse_query(text, EntityKind.SET) == query


KEYWORDS_AND_KEYS = "and or not in between has order by limit max min asc desc tag job.x a `b`"
VALUES_AND_MARKS = "'c' \"d\" 5 -7d 2h 1MB today me = != < >= ~ !~ ( ) , ' ` ! \" é \\ [a (?i) name"
FRAGMENTS = st.sampled_from(f"{KEYWORDS_AND_KEYS} {VALUES_AND_MARKS}".split())


@given(
    st.lists(FRAGMENTS, max_size=12).map(" ".join) | st.text(st.characters(), max_size=40),
    st.sampled_from(list(EntityKind)),
)
@example("k = '", EntityKind.SET)
def test_garbage_is_refused_in_words(text: str, kind: EntityKind) -> None:
    try:
        query = parse_query(text, kind)
    except InvalidQuery as error:
        assert 0 <= error.detail["position"] <= len(text)
        assert error.detail["expected"]
        assert "column" in error.message
    else:
        assert parse_query(format_query(query), kind) == query
