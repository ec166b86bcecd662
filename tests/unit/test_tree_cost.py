"""What an operation may read and write, counted in chunks and calls."""

from __future__ import annotations

import random
from hashlib import blake2b, sha256

import pytest

from acai.lake.tree import (
    BATCH,
    EMPTY,
    STANDARD,
    Conflict,
    Cuts,
    Entry,
    apply,
    build,
    diff,
    edit,
    get,
    iterate,
    merge,
    reachable,
    totals,
)
from acai.lake.tree.nodes import decode
from acai.testing.chunks import MemoryChunks

SIZE = 30_000


def path_of(number: int) -> str:
    return f"/data/part-{number // 1000:03d}/{number:07d}.jpg"


def entry(number: int, version: int = 1) -> Entry:
    return Entry(version, sha256(b"%d %d" % (number, version)).digest(), number, number + 1)


FILES = {path_of(number): entry(number) for number in range(SIZE)}


@pytest.fixture(scope="module")
def full() -> MemoryChunks:
    store = MemoryChunks()
    build(store, FILES.items())
    return store


@pytest.fixture
def store(full: MemoryChunks) -> MemoryChunks:
    copy = MemoryChunks()
    copy.chunks = dict(full.chunks)
    return copy


ROOT = build(MemoryChunks(), FILES.items())
LEVELS = 3


def no_conflict(conflict: Conflict) -> None:
    raise AssertionError(conflict)


def test_random_edits_touch_a_few_chunks(store: MemoryChunks) -> None:
    rng = random.Random(7)
    written = []
    for turn in range(150):
        path = path_of(rng.randrange(SIZE))
        store.reset_tally()
        if turn % 3 == 0:
            edit(store, ROOT, {path: entry(1, version=2)})
            assert len(store.read) == len(store.written) == LEVELS
        elif turn % 3 == 1:
            edit(store, ROOT, {path + "x": entry(2)})
        else:
            edit(store, ROOT, {}, [path])
        assert len(store.read) <= 3 * LEVELS
        assert len(store.written) <= 3 * LEVELS
        written.append(sum(map(len, store.written.values())))
    assert sum(written) / len(written) < 12_000


def test_an_edit_that_changes_nothing_writes_nothing(store: MemoryChunks) -> None:
    store.reset_tally()
    assert edit(store, ROOT, {path_of(5): entry(5)}, ["/absent", "/zzz"]) == ROOT
    assert edit(store, ROOT, {}) == ROOT
    assert store.written == {}


def test_many_edits_are_read_level_by_level(store: MemoryChunks) -> None:
    puts = {path_of(number): entry(number, version=2) for number in range(0, SIZE, 100)}
    store.reset_tally()
    root = edit(store, ROOT, puts)
    assert root == build(MemoryChunks(), (FILES | puts).items())
    assert len(store.read) > 250
    assert store.gets < 10


def test_a_stream_of_edits_larger_than_a_batch(store: MemoryChunks) -> None:
    rng = random.Random(3)
    numbers = sorted(rng.sample(range(2 * SIZE), 5_000))
    puts = {path_of(number): entry(number, version=3) for number in numbers[::2]}
    deletes = {path_of(number) for number in numbers[1::2]}
    changes = ((path, puts.get(path)) for path in sorted(puts.keys() | deletes))
    expected = sorted((FILES | puts).items())
    assert apply(store, ROOT, changes) == build(
        MemoryChunks(), (item for item in expected if item[0] not in deletes)
    )


def test_edits_must_come_in_order_and_once(store: MemoryChunks) -> None:
    with pytest.raises(ValueError, match="sorted"):
        apply(store, ROOT, [("/b", entry(1)), ("/a", entry(2))])
    with pytest.raises(ValueError, match="sorted"):
        build(store, [("/a", entry(1)), ("/a", entry(2))])
    with pytest.raises(ValueError, match="both put and deleted"):
        edit(store, ROOT, {"/a": entry(1)}, ["/a"])


def test_growing_from_nothing_and_shrinking_to_it(store: MemoryChunks) -> None:
    assert edit(store, EMPTY, FILES) == ROOT
    one = edit(store, ROOT, {}, [path for path in FILES if path != path_of(77)])
    assert one == build(MemoryChunks(), [(path_of(77), entry(77))])
    store.reset_tally()
    assert edit(store, one, {}, [path_of(77)]) == EMPTY
    assert store.written == {}
    assert list(iterate(store, EMPTY)) == []
    assert list(diff(store, EMPTY, EMPTY)) == []
    assert reachable(store, [EMPTY.id]) == set()


def test_a_difference_costs_what_differs(store: MemoryChunks) -> None:
    other = edit(store, ROOT, {path_of(123): entry(123, version=2)}, [path_of(20_000)])
    store.reset_tally()
    assert [change.path for change in diff(store, ROOT, other)] == [path_of(123), path_of(20_000)]
    assert len(store.read) <= 2 * (1 + 2 * (LEVELS - 1)) + 4
    store.reset_tally()
    assert list(diff(store, other, other)) == []
    assert store.gets == 0


def test_trees_of_different_heights_share_what_they_share(store: MemoryChunks) -> None:
    small = build(store, list(FILES.items())[:3_000])
    changes = list(diff(store, small, ROOT))
    assert len(changes) == SIZE - 3_000
    assert all(change.before is None for change in changes)


def test_merging_a_small_set_into_a_large_one_is_cheap_either_way(store: MemoryChunks) -> None:
    extra = {path_of(40_000): entry(40_000), path_of(9): entry(9)}
    small = build(store, sorted(extra.items()))
    expected = build(MemoryChunks(), sorted((FILES | extra).items()))
    for roots in ([ROOT, small], [small, ROOT]):
        store.reset_tally()
        assert merge(store, roots, no_conflict) == expected
        assert len(store.read) < 30


def test_merging_overlapping_sets_reads_only_what_they_do_not_share(store: MemoryChunks) -> None:
    left = edit(store, ROOT, {"/left": entry(1)})
    right = edit(store, ROOT, {"/right": entry(2)})
    store.reset_tally()
    merged = merge(store, [left, right, ROOT], no_conflict)
    assert merged == edit(store, left, {"/right": entry(2)})
    assert len(store.read) < 40


def test_a_merge_may_be_refused_at_the_first_conflict(store: MemoryChunks) -> None:
    class Refused(Exception):
        pass

    def refuse(conflict: Conflict) -> None:
        raise Refused(conflict.path, conflict.earlier.source, conflict.later.entry.version)

    other = edit(store, ROOT, {path_of(6): entry(6, version=2), path_of(5): entry(5, version=9)})
    with pytest.raises(Refused) as caught:
        merge(store, [ROOT, other], refuse)
    assert caught.value.args == (path_of(5), 0, 9)
    assert merge(store, [], refuse) == EMPTY


def test_a_page_reads_few_chunks_and_a_sum_fewer(store: MemoryChunks) -> None:
    store.reset_tally()
    page = list(iterate(store, ROOT, prefix="/data/part-020/", offset=500, limit=20))
    assert page == [(path_of(n), entry(n)) for n in range(20_500, 20_520)]
    assert len(store.read) <= 4 * LEVELS
    store.reset_tally()
    assert totals(store, ROOT, "/data/part-020/") == (1000, sum(range(20_000, 21_000)))
    assert len(store.read) == 2 * LEVELS


def test_reading_all_goes_by_batches_and_in_bounded_memory(store: MemoryChunks) -> None:
    store.reset_tally()
    stream = iterate(store, ROOT)
    next(stream)
    assert len(store.read) < 10
    assert 1 + sum(1 for _ in stream) == SIZE
    assert len(store.read) == len(store.chunks)
    assert store.gets < 25
    store.reset_tally()
    wanted = list(FILES)[::50]
    assert len(get(store, ROOT, wanted)) == len(wanted)
    assert store.gets <= LEVELS + len(store.read) // BATCH + 1


def test_the_walk_for_the_sweeper_visits_shared_chunks_once(store: MemoryChunks) -> None:
    other = edit(store, ROOT, {path_of(1): entry(1, version=2)})
    store.reset_tally()
    alive = reachable(store, [ROOT.id, other.id])
    assert alive == set(store.chunks)
    assert len(store.read) == len(set(store.read)) < len(alive) / 10


def test_paths_chosen_to_avoid_every_cut_make_no_giant_chunk() -> None:
    """Forced cuts take over, and an edit is still a build."""
    cuts = Cuts(minimum=500, target=1_000, maximum=4_000)
    paths = []
    for number in range(20_000):
        path = f"/{number:06d}"
        mark = int.from_bytes(blake2b(b"\0" + path.encode(), digest_size=4).digest(), "big")
        if mark >= 60 * (2**32 // 500):
            paths.append(path)
    store = MemoryChunks()
    root = build(store, [(path, entry(1)) for path in paths], cuts=cuts)
    assert max(map(len, store.chunks.values())) <= 4_100
    leaves = [node for node in map(decode, store.chunks.values()) if node.level == 0]
    assert len(leaves) < len(paths) / 50
    shifted = edit(store, root, {"/": entry(2)}, cuts=cuts)
    content = [("/", entry(2)), *((path, entry(1)) for path in paths)]
    assert shifted == build(MemoryChunks(), content, cuts=cuts)


def test_the_longest_paths_make_a_tree_of_bounded_chunks() -> None:
    stem = "/" + "/".join(["x" * 250] * 15)
    content = [(f"{stem}/{number:06d}" + "y" * 240, entry(number)) for number in range(300)]
    content = [(path[:4096], item) for path, item in content]
    store = MemoryChunks()
    root = build(store, content)
    assert list(iterate(store, root)) == content
    assert max(map(len, store.chunks.values())) <= STANDARD.maximum + 4_200
    assert len(store.chunks) < 1.1 * len(content)


def test_numbered_names_are_cut_evenly(full: MemoryChunks) -> None:
    sizes = [len(data) for data in full.chunks.values()]
    assert 1_500 < sum(sizes) / len(sizes) < 4_096
    assert max(sizes) <= STANDARD.maximum
