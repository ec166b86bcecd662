"""Which blobs travel together, and which bytes are fetched together."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from acai.client.transfer.packs import Packer, Piece, joined, plan_runs, segments


class Blob(NamedTuple):
    size: int


@given(st.lists(st.integers(0, 40)), st.integers(1, 60), st.integers(1, 7))
def test_packs_hold_everything_in_order_within_their_limits(
    sizes: list[int], most_bytes: int, most_blobs: int
) -> None:
    packer: Packer[Blob] = Packer(most_bytes=most_bytes, most_blobs=most_blobs)
    packs = [pack for size in sizes if (pack := packer.add(Blob(size)))]
    packs += [rest] if (rest := packer.flush()) else []
    assert [blob.size for pack in packs for blob in pack] == sizes
    for pack in packs:
        assert len(pack) <= most_blobs
        assert sum(blob.size for blob in pack) <= most_bytes or len(pack) == 1
    assert packer.flush() is None


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30),
    st.integers(1, 100),
    st.integers(0, 30),
)
def test_runs_cover_each_piece_once(
    gaps_and_sizes: list[tuple[int, int]], most_bytes: int, most_gap: int
) -> None:
    pieces, end = [], 0
    for number, (gap, size) in enumerate(gaps_and_sizes):
        pieces.append(Piece(str(number), end + gap, size))
        end += gap + size
    runs = list(plan_runs(reversed(pieces), most_bytes=most_bytes, most_gap=most_gap))
    fetched = [piece for run in runs for piece in run.pieces]
    assert sorted(fetched) == sorted(pieces)
    assert fetched == sorted(fetched, key=lambda piece: piece.start)
    for run in runs:
        assert run.start == run.pieces[0].start
        assert run.end == run.pieces[-1].end
        assert run.end - run.start <= most_bytes or len(run.pieces) == 1
        for one, other in zip(run.pieces, run.pieces[1:], strict=False):
            assert other.start - one.end <= most_gap


def test_neighbours_are_one_request() -> None:
    pieces = [Piece(str(number), number * 8192, 8192) for number in range(100)]
    (run,) = plan_runs(pieces, most_bytes=1 << 20, most_gap=0)
    assert (run.start, run.end) == (0, 819_200)


@given(st.integers(0, 1000), st.integers(1, 100))
def test_segments_tile_a_file(size: int, step: int) -> None:
    cuts = segments(size, step)
    assert [start for start, _ in cuts] == list(range(0, size, step))
    assert sum(end - start for start, end in cuts) == size
    assert all(0 < end - start <= step for start, end in cuts)


@given(st.lists(st.binary(max_size=20)), st.integers(1, 50))
def test_joining_changes_no_byte(blobs: list[bytes], step: int) -> None:
    pieces = list(joined(blobs, step))
    assert b"".join(pieces) == b"".join(blobs)
    assert all(len(piece) >= step for piece in pieces[:-1])
