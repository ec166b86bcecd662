from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.metadata import EntityKind, MetadataValue
from acai.model.query import Entity, matches, parse_query, resolve, select
from acai.model.query.ast import Compare, Relation

NOW = datetime(2026, 5, 10, 15, 30, tzinfo=UTC)


def holds(
    text: str,
    values: dict[str, MetadataValue] | None = None,
    tags: set[str] = frozenset(),  # type: ignore[assignment]
    kind: EntityKind = EntityKind.SET,
    **related: list[Entity],
) -> bool:
    entity = Entity(
        sequence=1,
        values=values or {},
        tags=frozenset(tags),
        related={Relation(name): each for name, each in related.items()},
    )
    return matches(resolve(parse_query(text, kind), now=NOW, me="anna").condition, entity)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("k = 5", 5, True),
        ("k = 5", 5.0, True),
        ("k = 5", "5", False),
        ("k = '5'", 5, False),
        ("k = 1", True, False),
        ("k = true", 1, False),
        ("k = true", True, True),
        ("k != true", False, True),
        ("k != 5", 6, True),
        ("k != 5", 5, False),
        ("k != 5", "x", False),
        ("k != 5", None, False),
        ("not k = 5", "x", True),
        ("not k = 5", None, True),
        ("k > 5", 5.5, True),
        ("k > 5", "x", False),
        ("k > a", "b", True),
        ("k > B", "a", True),
        ("k < 2h", 7199, True),
        ("k < 2h", 7200, False),
        ("k >= 1KiB", 1024, True),
        ("k between 1 and 3", 1, True),
        ("k between 1 and 3", 3.0, True),
        ("k between 1 and 3", 3.1, False),
        ("k not between 1 and 3", 4, True),
        ("k not between 1 and 3", 2, False),
        ("k not between 1 and 3", "x", False),
        ("k not between 1 and 3", None, False),
        ("k in (1, 2)", 2.0, True),
        ("k in (a, b)", "b", True),
        ("k in (1)", True, False),
        ("k not in (1, 2)", 3, True),
        ("k not in (1, 2)", "x", False),
        ("k not in (1, 2)", None, False),
        ("k ~ '^be'", "bert", True),
        ("k ~ 'er'", "bert", True),
        ("k ~ '^er'", "bert", False),
        ("k !~ '^er'", "bert", True),
        ("k !~ '^er'", 5, False),
        ("k !~ '^er'", None, False),
        ("has k", "", True),
        ("has k", None, False),
        ("k = me", "anna", True),
        ("k = 'me'", "anna", False),
    ],
)
def test_one_value(text: str, value: MetadataValue | None, expected: bool) -> None:
    assert holds(text, {} if value is None else {"k": value}) is expected


TODAY = datetime(2026, 5, 10, tzinfo=UTC)
LAST_OF_TODAY = datetime(2026, 5, 10, 23, 59, 59, 999999, tzinfo=UTC)
TOMORROW = TODAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("create_time = today", TODAY, True),
        ("create_time = today", LAST_OF_TODAY, True),
        ("create_time = today", TOMORROW, False),
        ("create_time = yesterday", TODAY, False),
        ("create_time = yesterday", TODAY - timedelta(microseconds=1), True),
        ("create_time != today", TODAY, False),
        ("create_time != today", TOMORROW, True),
        ("create_time < today", TODAY, False),
        ("create_time <= today", LAST_OF_TODAY, True),
        ("create_time <= today", TOMORROW, False),
        ("create_time > today", LAST_OF_TODAY, False),
        ("create_time > today", TOMORROW, True),
        ("create_time >= today", TODAY, True),
        ("create_time between 2026-05-09 and 2026-05-10", LAST_OF_TODAY, True),
        ("create_time not between 2026-05-09 and 2026-05-10", TOMORROW, True),
        ("create_time >= -1h", NOW - timedelta(minutes=59), True),
        ("create_time >= -1h", NOW - timedelta(minutes=61), False),
        ("create_time <= now", NOW, True),
        ("create_time = 2026-05-10T12:00+02:00", TODAY + timedelta(hours=10), True),
        ("create_time = 9999-12-31", TODAY, False),
        ("create_time in (2026-05-10T00:00)", TODAY, True),
    ],
)
def test_times(text: str, moment: datetime, expected: bool) -> None:
    assert holds(text, {"create_time": moment}) is expected


@pytest.mark.parametrize(
    ("text", "tags", "expected"),
    [
        ("tag = a", {"a", "b"}, True),
        ("tag = c", {"a", "b"}, False),
        ("tag != c", {"a", "b"}, True),
        ("tag != a", {"a", "b"}, False),
        ("tag != a", set(), True),
        ("tag in (c, b)", {"a", "b"}, True),
        ("tag not in (c, d)", {"a", "b"}, True),
        ("tag not in (c, b)", {"a", "b"}, False),
        ("tag ~ '^a'", {"abc"}, True),
        ("tag !~ '^a'", {"abc", "b"}, False),
        ("has tag", {"a"}, True),
        ("has tag", set(), False),
        ("has `tag`", {"a"}, False),
    ],
)
def test_tags(text: str, tags: set[str], expected: bool) -> None:
    assert holds(text, tags=tags) is expected


def test_relations_ask_for_one_that_matches() -> None:
    one = Entity(sequence=1, values={"name": "A", "version": 1}, tags=frozenset({"x"}))
    two = Entity(sequence=2, values={"name": "B", "version": 2})
    job = EntityKind.JOB
    assert holds("input.name = A", kind=job, input=[one, two])
    assert holds("input.name = A and input.version = 2", kind=job, input=[one, two])
    assert holds("input.name != A", kind=job, input=[one, two])
    assert not holds("not input.name = A", kind=job, input=[one, two])
    assert holds("input.tag = x and input.tag != x", kind=job, input=[one, two])
    assert not holds("input.name != A", kind=job)
    assert not holds("input.tag != x", kind=job)
    assert holds("not input.name = A", kind=job)
    assert not holds("output.name = A", kind=job, input=[one])


def test_logic() -> None:
    assert holds("a = 1 or b = 2 and c = 3", {"a": 1})
    assert not holds("(a = 1 or b = 2) and c = 3", {"a": 1})
    assert holds("not (a = 2 or b = 2)", {"a": 1})


def ids(text: str, *entities: Entity) -> list[int]:
    query = resolve(parse_query(text, EntityKind.SET), now=NOW, me="anna")
    return [each.sequence for each in select(query, entities)]


def entity(sequence: int, **values: MetadataValue) -> Entity:
    return Entity(sequence=sequence, values=values)


MIXED = (
    entity(1, k=2, g="a"),
    entity(2, k=1.5, g="b"),
    entity(3, g="a"),
    entity(4, k="text"),
    entity(5, k=NOW),
    entity(6, k=False),
    entity(7, k=2.0, g="b"),
    entity(8, k=True),
)


def test_order() -> None:
    assert ids("", *MIXED) == [8, 7, 6, 5, 4, 3, 2, 1]
    assert ids("limit 2", *MIXED) == [8, 7]
    assert ids("order by k", *MIXED) == [2, 7, 1, 5, 4, 6, 8, 3]
    assert ids("order by k desc", *MIXED) == [7, 1, 2, 5, 4, 8, 6, 3]
    assert ids("order by g desc, k limit 4", *MIXED) == [2, 7, 1, 3]
    assert ids("has g order by g, k desc", *MIXED) == [1, 3, 7, 2]


def test_extremes() -> None:
    assert ids("max k", *MIXED) == [7]
    assert ids("min k", *MIXED) == [2]
    assert ids("g = a max k", *MIXED) == [1]
    assert ids("max missing", *MIXED) == []


def test_a_relative_literal_must_be_resolved_first() -> None:
    query = parse_query("k > -7d", EntityKind.SET)
    with pytest.raises(TypeError, match="resolve"):
        matches(query.condition, entity(1, k=NOW))


def test_resolving_twice_changes_nothing() -> None:
    text = "a = today and b in (me, 'x') or not c between -7d and yesterday and size > 1MB"
    once = resolve(parse_query(text, EntityKind.SET), now=NOW, me="anna")
    assert resolve(once, now=NOW + timedelta(days=9), me="otto") == once


NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, -1.5])
VALUES = NUMBERS | st.sampled_from(["a", "b", ""]) | st.booleans() | st.just(NOW)


@given(st.lists(VALUES | st.none(), max_size=8), NUMBERS, NUMBERS)
def test_a_comparison_and_its_opposite_share_out_what_has_that_type(
    values: list[MetadataValue | None], low: float, high: float
) -> None:
    entities = [
        entity(at) if value is None else entity(at, k=value) for at, value in enumerate(values)
    ]
    numeric = {
        at
        for at, value in enumerate(values)
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    low, high = sorted((low, high))
    for left, right in (
        (f"k = {low}", f"k != {low}"),
        (f"k < {low}", f"k >= {low}"),
        (f"k between {low} and {high}", f"k not between {low} and {high}"),
        (f"k in ({low}, {high})", f"k not in ({low}, {high})"),
    ):
        one, other = set(ids(left, *entities)), set(ids(right, *entities))
        assert one | other == numeric and not one & other
        assert set(ids(f"not {left}", *entities)) == set(range(len(values))) - one
    both = set(ids(f"k >= {low} and k <= {high}", *entities))
    assert both == set(ids(f"k between {low} and {high}", *entities))


@given(st.lists(VALUES | st.none(), max_size=8))
def test_max_is_the_first_in_descending_order(values: list[MetadataValue | None]) -> None:
    entities = [
        entity(at) if value is None else entity(at, k=value) for at, value in enumerate(values)
    ]
    assert ids("max k", *entities) == ids("has k order by k desc limit 1", *entities)
    assert ids("min k", *entities) == ids("has k order by k limit 1", *entities)


def test_units_disappear_when_resolved() -> None:
    query = resolve(parse_query("runtime > 2h", EntityKind.JOB), now=NOW, me="anna")
    assert isinstance(query.condition, Compare)
    assert repr(query.condition.value) == "Number(value=7200)"
