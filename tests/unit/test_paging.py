"""Cursors: opaque, whole, and harmless when somebody makes them up."""

from __future__ import annotations

import base64
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.api.paging import decode_cursor, encode_cursor, page
from acai.model.errors import InvalidCursor


def raw(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_a_list_is_walked_to_its_end_without_gap_or_repeat() -> None:
    items = [f"item-{n:03}" for n in range(25)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        after = decode_cursor(cursor, "")
        found = page([item for item in items if item > after][:11], 10, lambda item: item)
        seen += found.items
        cursor = found.next
        if cursor is None:
            break
    assert seen == items


def test_the_last_page_has_no_next() -> None:
    assert page(["a", "b"], 2, str).next is None
    assert page(["a", "b", "c"], 2, str).next is not None
    assert page([], 2, str).items == []


@given(st.one_of(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_any_text_comes_back(value: str) -> None:
    assert decode_cursor(encode_cursor(value), "") == value


@given(
    st.integers(-(2**63), 2**63 - 1), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
def test_compound_positions_come_back(number: int, text: str) -> None:
    assert decode_cursor(encode_cursor([number, text]), [0, ""]) == [number, text]


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "!", "äöü", "a", "=" * 8, "A" * 100_000),
        *map(raw, (b"{", b"5", b"null", b"[]", b"\xff", b"[" * 40_000, b'"\\ud800"')),
        raw(json.dumps("a\0b").encode()),
    ],
)
def test_garbage_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor, match="begin without"):
        decode_cursor(cursor, "")


@pytest.mark.parametrize("value", [[2**63], ["x\0"], [["\udfff"]], [{"a": 1}]])
def test_garbage_inside_a_compound_is_refused(value: list[object]) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(raw(json.dumps(value).encode()), [0])


@given(st.binary(max_size=60))
def test_no_bytes_break_it(data: bytes) -> None:
    with contextlib.suppress(InvalidCursor):
        assert isinstance(decode_cursor(raw(data), ""), str)
