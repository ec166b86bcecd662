"""The tree against the dictionary that it stands for, over chunks small enough for many levels."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from acai.lake.tree import (
    EMPTY,
    Change,
    Conflict,
    Cuts,
    Entry,
    Root,
    Totals,
    build,
    diff,
    edit,
    get,
    iterate,
    merge,
    open_root,
    reachable,
    totals,
)
from acai.testing.chunks import MemoryChunks

Files = dict[str, Entry]

TINY = Cuts(minimum=60, target=180, maximum=500)
COMMON = settings(deadline=None, max_examples=80)

# Few letters, so that paths collide and nest; one beyond the 16-bit plane, one below it that
# sorts after it in UTF-16 but before it in UTF-8.
paths = st.text("ab/é\uffee\U0001f34e", min_size=1, max_size=6).map("/{}".format)
entries = st.builds(
    Entry,
    version=st.integers(1, 3),
    sha256=st.sampled_from([bytes([n]) * 32 for n in range(3)]),
    size=st.integers(0, 2**40),
    id=st.integers(1, 2**63 - 1),
)
files = st.dictionaries(paths, entries, max_size=120)


def made(store: MemoryChunks, content: Files) -> Root:
    return build(store, sorted(content.items()), cuts=TINY)


@COMMON
@given(files)
def test_a_tree_holds_what_it_was_made_of(content: Files) -> None:
    store = MemoryChunks()
    root = made(store, content)
    assert list(iterate(store, root)) == sorted(content.items(), key=lambda i: i[0].encode())
    assert (root.file_count, root.size) == (len(content), sum(e.size for e in content.values()))
    assert open_root(store, root.id) == root
    assert reachable(store, [root.id]) == set(store.chunks)
    assert (root == EMPTY) == (not content)


@COMMON
@given(files, st.randoms(use_true_random=False), st.integers(1, 12))
def test_the_order_of_insertion_leaves_no_trace(content: Files, random: Random, step: int) -> None:
    store = MemoryChunks()
    order = list(content)
    random.shuffle(order)
    root = EMPTY
    for start in range(0, len(order), step):
        root = edit(store, root, {p: content[p] for p in order[start : start + step]}, cuts=TINY)
    assert root == made(MemoryChunks(), content)


@COMMON
@given(files, files, st.data())
def test_an_edit_is_a_build_of_the_changed_map(
    before: Files, puts: Files, data: st.DataObject
) -> None:
    deletes = data.draw(st.sets(st.sampled_from(sorted(before)) if before else paths)) - set(puts)
    after = {path: e for path, e in (before | puts).items() if path not in deletes}
    store = MemoryChunks()
    old = made(store, before)
    store.reset_tally()
    new = edit(store, old, puts, deletes, cuts=TINY)
    scratch = MemoryChunks()
    assert new == made(scratch, after)
    # It wrote what the new tree has and the old one had not, and nothing else.
    assert set(store.written) == set(scratch.chunks) - reachable(store, [old.id])


@COMMON
@given(files, files, st.booleans())
def test_the_difference_of_trees_is_that_of_maps(one: Files, two: Files, related: bool) -> None:
    if related:
        two = one | dict(list(two.items())[:3])
    store = MemoryChunks()
    changes = list(diff(store, made(store, one), made(store, two)))
    assert changes == [
        Change(path, one.get(path), two.get(path))
        for path in sorted(one.keys() | two.keys())
        if one.get(path) != two.get(path)
    ]


@COMMON
@given(files, paths, st.none() | paths, st.integers(0, 30), st.none() | st.integers(0, 30))
def test_a_page_is_a_slice_of_the_map(
    content: Files, prefix: str, after: str | None, offset: int, limit: int | None
) -> None:
    store = MemoryChunks()
    root = made(store, content)
    chosen = [item for item in sorted(content.items()) if item[0].startswith(prefix)]
    size = sum(e.size for _, e in chosen)
    assert totals(store, root, prefix) == Totals(len(chosen), size)
    rest = [item for item in chosen if after is None or item[0] > after][offset:]
    page = iterate(store, root, prefix=prefix, after=after, offset=offset, limit=limit)
    assert list(page) == rest[:limit]


@COMMON
@given(files, st.lists(paths, max_size=20))
def test_lookups_find_what_is_there(content: Files, wanted: list[str]) -> None:
    store = MemoryChunks()
    asked = [*wanted, *list(content)[::7]]
    expected = {path: content[path] for path in asked if path in content}
    assert get(store, made(store, content), asked) == expected


@COMMON
@given(st.lists(files, max_size=4), st.booleans())
def test_in_a_merge_the_last_source_wins(sources: list[Files], overlapping: bool) -> None:
    if overlapping and sources:
        sources = [sources[0] | dict(list(source.items())[:4]) for source in sources]
    union: Files = {}
    claims: dict[str, list[tuple[int, Entry]]] = {}
    for number, source in enumerate(sources):
        union |= source
        for path, entry in source.items():
            claims.setdefault(path, []).append((number, entry))
    contested = [path for path in sorted(claims) if len({e for _, e in claims[path]}) > 1]
    conflicts: list[Conflict] = []
    store = MemoryChunks()
    merged = merge(store, [made(store, s) for s in sources], conflicts.append, cuts=TINY)
    assert merged == made(MemoryChunks(), union)
    assert [conflict.path for conflict in conflicts] == contested
    for conflict in conflicts:
        assert conflict.earlier.source < conflict.later.source
        assert conflict.later.entry == union[conflict.path]
        for claim in (conflict.earlier, conflict.later):
            assert sources[claim.source][conflict.path] == claim.entry
        assert conflict.earlier.entry != conflict.later.entry


@COMMON
@given(files, st.integers(0, 2**62))
def test_content_is_the_same_whatever_the_versions(content: Files, shift: int) -> None:
    store = MemoryChunks()
    renumbered = {
        path: e._replace(version=e.version + 1, id=shift + number)
        for number, (path, e) in enumerate(content.items())
    }
    one, two = made(store, content), made(store, renumbered)
    assert one.content == two.content
    assert (one.id == two.id) == (content == renumbered)


@COMMON
@given(files.filter(bool), st.data())
def test_content_differs_when_a_digest_or_a_path_does(content: Files, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(content)))
    store = MemoryChunks()
    root = made(store, content)
    changed = content | {path: content[path]._replace(sha256=b"\xff" * 32)}
    renamed = {p if p != path else path + "z": e for p, e in content.items()}
    assert made(store, changed).content != root.content
    assert made(store, renamed).content != root.content
