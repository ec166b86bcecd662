from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acai.model import metadata
from acai.model.errors import InvalidInput
from acai.model.metadata import EntityKind, KeyType, MetadataValue

VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=50),
    st.sampled_from(
        ["5", "true", "2026-01-01", "'x'", '"', "'", "", "1e5", "007", "9" * 40, "2026-02-30"]
    ),
    st.datetimes(timezones=st.just(UTC)),
)


def same(left: MetadataValue, right: MetadataValue) -> bool:
    return metadata.value_type(left) == metadata.value_type(right) and left == right


@given(VALUES)
@example("'")
def test_values_survive_json_and_the_command_line(value: MetadataValue) -> None:
    assert same(metadata.validate_value(value), value)
    wire = json.loads(json.dumps(metadata.value_to_json(value)))
    assert same(metadata.value_from_json(wire), value)
    assert same(metadata.parse_value(metadata.format_value(value)), value)
    word = f"k={metadata.format_value(value)}"
    assert metadata.parse_assignment(word)[0] == "k"
    assert same(metadata.parse_assignment(word)[1], value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-3", -3),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-5", 1e-5),
        ("true", True),
        ("False", False),
        ("BERT", "BERT"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("007", "007"),
        ("5.", "5."),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1_000", "1_000"),
        ("", ""),
        ("a=b", "a=b"),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T12:00", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("2026-05-01T12:00:00.25Z", datetime(2026, 5, 1, 12, 0, 0, 250000, tzinfo=UTC)),
        ("2026-05-01T12:00:00+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("20260501", 20260501),
    ],
)
def test_inferred_types(text: str, value: MetadataValue) -> None:
    assert same(metadata.parse_value(text), value)


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "9" * 5000,
        "1e400",
        "2026-13-01",
        "2026-02-30T00:00",
        "0001-01-01T00:00+05:00",
    ],
)
def test_what_looks_like_a_value_but_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        metadata.parse_value(text)


@pytest.mark.parametrize("word", ["k", "=5", "1k=5", "a b=5", "k\n=5", "é=1"])
def test_refused_assignments(word: str) -> None:
    with pytest.raises(InvalidInput):
        metadata.parse_assignment(word)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        b"x",
        float("nan"),
        float("-inf"),
        2**53 + 1,
        datetime(2026, 1, 1),  # noqa: DTZ001
        date(2026, 1, 1),
        "a\x00b",
        "\ud800",
        "é" * 2049,
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_refused_values_name_the_key(value: object) -> None:
    with pytest.raises(InvalidInput, match="accuracy"):
        metadata.validate_value(value, key="accuracy")


def test_other_numbers_and_zones_are_converted() -> None:
    assert same(metadata.validate_value(Fraction(1, 2)), 0.5)
    there = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    stored = metadata.validate_value(there)
    assert isinstance(stored, datetime)
    assert stored == there and stored.tzinfo is UTC


@pytest.mark.parametrize(
    "value", [{}, {"$time": 5}, {"$time": "soon"}, {"$time": "2026-01-01"}, {"a": 1}, None, [1]]
)
def test_refused_json(value: object) -> None:
    with pytest.raises(InvalidInput):
        metadata.value_from_json(value)


def test_built_in_keys_are_read_only() -> None:
    for kind in EntityKind:
        for key in metadata.BUILT_IN_KEYS[kind]:
            with pytest.raises(InvalidInput, match=repr(key)):
                metadata.validate_user_key(kind, key)
    with pytest.raises(InvalidInput, match=r"args\.epochs"):
        metadata.validate_user_key(EntityKind.JOB, "args.epochs")
    assert metadata.validate_user_key(EntityKind.SET, "args.epochs") == "args.epochs"
    assert metadata.validate_user_key(EntityKind.FILE, "cost") == "cost"
    assert metadata.key_type(EntityKind.JOB, "runtime") is KeyType.DURATION
    assert metadata.key_type(EntityKind.SET, "runtime") is None


@pytest.mark.parametrize("key", ["", "1a", "a b", "-a", "a" * 129, "a\n", "é", "a:b"])
def test_refused_keys(key: str) -> None:
    with pytest.raises(InvalidInput):
        metadata.validate_key(key)


@pytest.mark.parametrize(
    "tag", ["baseline", "v1.2", "needs review", "prod/eu", "50%", "日本", "x" * 128]
)
def test_tags(tag: str) -> None:
    assert metadata.validate_tag(tag) == tag


@pytest.mark.parametrize("tag", ["", " a", "a ", "a,b", "a\nb", "x" * 129, "\ud800", "\u202e"])
def test_refused_tags(tag: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        metadata.validate_tag(tag)
    json.dumps(caught.value.detail, ensure_ascii=False).encode()
