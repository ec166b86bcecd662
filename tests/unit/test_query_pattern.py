from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.query.matcher import compile_pattern
from acai.model.query.pattern import PatternError, parse_pattern, postgres_pattern

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "A",
        ".",
        "[ab]",
        "[^a]",
        "[a-c1]",
        r"\d",
        r"\w",
        r"\W",
        r"\.",
        "^",
        "$",
        "é",
        r"[\d-]",
        r"[\]x]",
    ]
)
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}"])


def repeated(body: str, repeat: str, group: str = "{}") -> str:
    return body if body in {"^", "$"} else group.format(body) + repeat


PATTERNS = st.recursive(
    ATOMS | st.builds(repeated, ATOMS, REPEATS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds(lambda body, repeat: repeated(body, repeat, "(?:{})"), inner, REPEATS),
    ),
    max_leaves=5,
)
TEXTS = st.text("abcAB1.é]- \n", max_size=8)


def by_python(pattern: str, flags: int = 0) -> re.Pattern[str]:
    # `$` of Python also matches before a final newline; ours and PostgreSQL's does not.
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII | re.DOTALL | flags)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=4))
def test_agrees_with_another_engine(pattern: str, texts: list[str]) -> None:
    search = compile_pattern(pattern)
    for text in texts:
        assert search(text) == bool(by_python(pattern).search(text)), (pattern, text)
        ignoring = compile_pattern(f"(?i){pattern}")
        # Python folds a few letters beyond ASCII even so; the alphabet here has none of them.
        assert ignoring(text) == bool(by_python(pattern, re.IGNORECASE).search(text))


@given(PATTERNS, TEXTS)
def test_the_portable_spelling_means_the_same(pattern: str, text: str) -> None:
    portable = postgres_pattern(pattern)
    assert compile_pattern(portable)(text) == compile_pattern(pattern)(text)


@pytest.mark.parametrize(
    ("pattern", "portable"),
    [
        ("^bert-", "^bert-"),
        (r"\d+\.json$", r"[0-9]{1,}\.json$"),
        (r"\W", r"[^0-9A-Z_a-z]"),
        ("(?i)aB1", "[aA][Bb]1"),
        ("(?i)[x-z]", "[x-zX-Z]"),
        ("a|b(c|d)*", "a|b(?:c|d){0,}"),
        ("", ""),
    ],
)
def test_portable_spellings(pattern: str, portable: str) -> None:
    assert postgres_pattern(pattern) == portable


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        ("*a", 0),
        ("a**", 2),
        ("a*?", 2),
        ("a++", 2),
        ("a{3}{2}", 4),
        ("a{,3}", 1),
        ("a{3,2}", 1),
        ("a{256}", 1),
        ("a{", 1),
        ("a}", 1),
        ("a]", 1),
        ("[a", 0),
        ("[b-a]", 1),
        ("[[:alpha:]]", 1),
        (r"[\D]", 1),
        ("(a", 0),
        ("a)", 1),
        ("()", 1),
        ("a|", 2),
        ("|a", 0),
        ("(?=a)", 0),
        ("(?<!a)", 0),
        ("(?P<n>a)", 0),
        ("a(?i)", 1),
        (r"(a)\1", 3),
        (r"\bword", 0),
        (r"\Z", 0),
        (r"\x41", 0),
        ("a\\", 1),
        ("^*", 1),
        ("$?", 1),
        ("(" * 33 + "a" + ")" * 33, 32),
        ("a" * 513, 512),
    ],
)
def test_refused_patterns(pattern: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern(pattern)
    assert caught.value.offset == offset
    assert caught.value.expected


def test_repeats_that_multiply_are_refused() -> None:
    with pytest.raises(PatternError, match="too large"):
        compile_pattern("((a{200}){200}){200}")


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(a|aa)+$b", "(a*)*(a*)*b", ".*.*.*.*.*x"]
)
def test_no_pattern_runs_away(pattern: str) -> None:
    search = compile_pattern(pattern)
    started = time.monotonic()
    assert not search("a" * 4000)
    assert time.monotonic() - started < 2


def test_memory_of_steps_is_bounded() -> None:
    search = compile_pattern("^[^x]+y$")
    assert search("".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) + "y")
    assert not search("".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) + "xy")


@given(st.text(max_size=20))
def test_garbage_is_refused_or_works(pattern: str) -> None:
    try:
        search = compile_pattern(pattern)
    except PatternError as error:
        assert 0 <= error.offset <= len(pattern)
    else:
        assert search("some text") in {True, False}
        assert compile_pattern(postgres_pattern(pattern))("some text") == search("some text")
