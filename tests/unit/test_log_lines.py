"""Long lines are cut, wherever the pieces of a log happen to end."""

from __future__ import annotations

import re
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from acai.engine.log_lines import LineCutter


def _cut(log: bytes, longest: int, ends: list[int]) -> list[bytes | int]:
    cutter = LineCutter(longest)
    places = [0, *sorted(end % (len(log) + 1) for end in ends), len(log)]
    return [part for a, b in pairwise(places) for part in cutter.cut(log[a:b])]


@given(st.text("ab\n", max_size=60).map(str.encode), st.integers(1, 9), st.lists(st.integers(0)))
def test_each_line_keeps_its_beginning_and_its_end(
    log: bytes, longest: int, ends: list[int]
) -> None:
    parts = _cut(log, longest, ends)
    kept = b"".join(part for part in parts if isinstance(part, bytes))
    assert kept == re.sub(rb"(?m)^(.{%d}).+" % longest, rb"\1", log)
    assert sum(part if isinstance(part, int) else len(part) for part in parts) == len(log)
    assert all(parts)


def test_what_is_left_out_is_told_where_it_was() -> None:
    assert _cut(b"one\nseventeen\nend", 5, []) == [b"one\nseven", 4, b"\nend"]
    assert _cut(b"seventeen\n", 5, [2, 7]) == [b"se", b"ven", 2, 2, b"\n"]


def test_many_short_lines_take_no_longer_than_a_few_long_ones() -> None:
    short = b"7\n" * 2_000_000
    began = time.perf_counter()
    assert _cut(short, 16_384, []) == [short]
    assert time.perf_counter() - began < 0.5
