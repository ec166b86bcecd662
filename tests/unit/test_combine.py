"""The rules of building sets, against a plain dictionary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from acai.lake import collisions, tree
from acai.lake.combine import FromDirectory, FromFile, FromSet, Source, combine
from acai.model.errors import PathConflict
from acai.testing.chunks import MemoryChunks

PATHS = ["/a", "/b", "/a/b", "/a/c", "/a!", "/d/e/f", "/d/e", "/d/g"]
DIRECTORIES = ["/", "/a/", "/d/", "/d/e/"]
Holding = dict[str, int]


@st.composite
def _worlds(draw: st.DrawFn) -> tuple[Holding, list[Holding], list[tuple[Any, ...]], bool]:
    """What the lake shows, some sets, and specs: ('file', path, version), ('dir', directory)
    or ('set', which, directory)."""
    holdings = st.dictionaries(st.sampled_from(PATHS), st.integers(1, 3), max_size=5)
    latest = _consistent(draw(holdings))
    held = [h for h in (_consistent(x) for x in draw(st.lists(holdings, max_size=3))) if h]
    specs = st.one_of(
        st.tuples(st.just("file"), st.sampled_from(PATHS), st.integers(1, 3)),
        *([st.tuples(st.just("dir"), st.sampled_from(DIRECTORIES))] if latest else []),
        *(
            [
                st.tuples(
                    st.just("set"),
                    st.integers(0, len(held) - 1),
                    st.sampled_from(DIRECTORIES),
                )
            ]
            if held
            else []
        ),
    )
    return latest, held, draw(st.lists(specs, min_size=1, max_size=5)), draw(st.booleans())


def _consistent(holding: Holding) -> Holding:
    """Without the files below which there are others."""
    return {p: v for p, v in holding.items() if not any(q.startswith(p + "/") for q in holding)}


def _model(
    latest: Holding, held: list[Holding], specs: list[tuple[Any, ...]], prefer_last: bool
) -> Holding | None:
    """The rules of building sets, said once more; None for a conflict."""
    parts: list[tuple[str, Holding]] = []
    for spec in specs:
        if spec[0] == "file":
            parts.append(("file", {spec[1]: spec[2]}))
        elif spec[0] == "dir":
            parts.append(("dir", {p: v for p, v in latest.items() if p.startswith(spec[1])}))
        else:
            inside = held[spec[1]]
            parts.append(("set", {p: v for p, v in inside.items() if p.startswith(spec[2])}))
    result: Holding = {}
    for path in {path for _, part in parts for path in part}:
        claims = [(kind, part[path]) for kind, part in parts if path in part]
        value, named = claims[0][1], claims[0][0] == "file"
        wrong = False
        for kind, version in claims[1:]:
            if kind == "file":
                wrong, named = False, True
            elif version != value and (kind == "set" or named):
                wrong = True
            elif kind == "dir":
                wrong = wrong and named
            value = version
        if wrong and not prefer_last:
            return None
        result[path] = value
    return result if result == _consistent(result) else None


def _entry(path: str, version: int) -> tree.Entry:
    row = PATHS.index(path) * 10 + version
    return tree.Entry(version, bytes([row]) * 32, version, row)


@hypothesis_settings(max_examples=400, deadline=None)
@given(_worlds())
def test_specs_mean_what_the_plain_rules_say(
    world: tuple[Holding, list[Holding], list[tuple[Any, ...]], bool],
) -> None:
    latest, held, specs, prefer_last = world
    store = MemoryChunks()

    def entries(holding: Holding, directory: str = "/") -> list[tuple[str, tree.Entry]]:
        found = sorted((p, v) for p, v in holding.items() if p.startswith(directory))
        return [(path, _entry(path, version)) for path, version in found]

    def source(spec: tuple[Any, ...]) -> Source:
        if spec[0] == "file":
            return FromFile(label=spec[1], path=spec[1], entry=_entry(spec[1], spec[2]))
        if spec[0] == "dir":
            return FromDirectory(
                label=spec[1], directory=spec[1], files=lambda: iter(entries(latest, spec[1]))
            )
        root = tree.build(store, entries(held[spec[1]]))
        return FromSet(label=str(spec[1]), root=root, directory=spec[2])

    expected = _model(latest, held, specs, prefer_last)
    try:
        root = combine(
            store,
            [source(spec) for spec in specs],
            prefer_last=prefer_last,
            latest=lambda paths: {p: _entry(p, latest[p]) for p in paths if p in latest},
        )
    except PathConflict:
        assert expected is None
        return
    assert {path: entry.version for path, entry in tree.iterate(store, root)} == expected
    assert root == tree.build(store, entries(expected or {}))


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from(PATHS)), st.sets(st.sampled_from(PATHS)))
def test_collisions_are_found_in_what_was_added(one: set[str], other: set[str]) -> None:
    store = MemoryChunks()
    free = _consistent(dict.fromkeys(one, 1))
    whole = {**free, **dict.fromkeys(other, 1)}
    base, root = (
        tree.build(store, ((path, _entry(path, 1)) for path in sorted(holding)))
        for holding in (free, whole)
    )
    if whole == _consistent(whole):
        collisions.check(store, base, root)
    else:
        with pytest.raises(PathConflict):
            collisions.check(store, base, root)


@pytest.mark.parametrize("new", ["/data/00777/deep", "/data", "/data/0"])
def test_collisions_are_found_in_a_large_set(new: str) -> None:
    store = MemoryChunks()
    names = [f"/data/{number:05d}" for number in range(5000)]
    free = tree.build(store, ((name, _large(number)) for number, name in enumerate(names)))
    root = tree.edit(store, free, {new: _large(9)})
    store.reset_tally()
    if new == "/data/0":
        collisions.check(store, free, root)
    else:
        with pytest.raises(PathConflict):
            collisions.check(store, free, root)
    assert len(store.read) < 30


def _large(number: int) -> tree.Entry:
    return tree.Entry(1, number.to_bytes(32, "big"), 1, number)


def test_a_page_of_a_difference_skips_what_lies_before() -> None:
    store = MemoryChunks()
    first, second = (
        tree.build(store, ((f"/{n:05d}", tree.Entry(v, bytes(32), 1, n)) for n in range(20_000)))
        for v in (1, 2)
    )
    whole = [change.path for change in tree.diff(store, first, second)]
    store.reset_tally()
    page = tree.diff(store, first, second, beyond="/19000")
    assert [change.path for change in page] == whole[19_001:]
    assert len(store.read) < 100
    beyond_all = tree.diff(store, first, second, beyond="/x")
    assert list(beyond_all) == []
