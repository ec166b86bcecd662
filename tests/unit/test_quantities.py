"""Durations and sizes, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.errors import InvalidInput
from acai.model.quantities import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604800), ("1w", 604800)),
        *(("1.5h", 5400), ("250ms", 0.25), ("30", 30), (" 2 H ", 7200)),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("1MB", 10**6), ("2GB", 2 * 10**9), ("1KiB", 1024), ("512MiB", 2**29), ("100", 100)),
        *(("2048mb", 2048 * 10**6), ("1.5KB", 1500), ("0", 0), ("1 GiB", 2**30)),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "h", "-1h", "1 hour", "1e3s", "2x", "1h30m", "∞", "1\n2"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(InvalidInput, match="write for example"):
        parse_duration(text)
    with pytest.raises(InvalidInput, match="write for example"):
        parse_size(text)


def test_written_for_people() -> None:
    assert [format_size(n) for n in (0, 999, 1000, 1500, 123456, 999_600, 5 * 10**12)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "1.5 KB",
        "123 KB",
        "1.0 MB",
        "5.0 TB",
    ]
    assert [format_duration(s) for s in (0.005, 1.25, 59.9, 61, 3600, 7260, 200_000)] == [
        "5 ms",
        "1.2 s",
        "59.9 s",
        "1 min 1 s",
        "1 h",
        "2 h 1 min",
        "2 d 7 h",
    ]


@given(st.integers(0, 10**15))
def test_a_written_size_is_within_a_twentieth(size: int) -> None:
    assert abs(parse_size(format_size(size)) - size) <= size / 20 + 1


@given(st.floats(0, 10**8))
def test_a_written_duration_is_never_empty(seconds: float) -> None:
    assert format_duration(seconds)[0].isdigit()
    assert "60 s" not in format_duration(seconds).split("min")[-1]
