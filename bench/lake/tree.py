"""The manifest tree of a set against its limit and against a flat list.

    python bench/lake/tree.py [FILES ...]        default: 10000 100000

Columns: the tree over chunks in memory; the tree over a SQLite table, one commit for each
version; and a flat list, sorted and compressed with zlib, which writes everything for every
version. The limit of a build is what any content-addressed list must do: sort the paths and
hash the bytes of the list.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from acai.lake.tree import ChunkStore, Entry, Root, build, diff, edit, get, iterate, merge, totals
from acai.testing.chunks import MemoryChunks

T = TypeVar("T")
TURNS = 30


class SqliteChunks:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("create table chunk (id blob primary key, data blob) without rowid")

    def get_many(self, ids: Collection[bytes], /) -> Mapping[bytes, bytes]:
        marks = ",".join("?" * len(ids))
        rows = self.connection.execute(
            f"select id, data from chunk where id in ({marks})", tuple(ids)
        )
        return dict(rows.fetchall())

    def put_many(self, chunks: Mapping[bytes, bytes], /) -> None:
        self.connection.executemany("insert or ignore into chunk values (?, ?)", chunks.items())


def timed(action: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def drain(stream: Iterable[object]) -> int:
    return sum(1 for _ in stream)


def some_files(count: int) -> list[tuple[str, Entry]]:
    rng = random.Random(count)
    return [
        (
            f"/data/train/class_{number // 1000:04d}/img_{number:07d}.jpg",
            Entry(1, rng.randbytes(32), rng.randrange(1 << 20), number + 1),
        )
        for number in range(count)
    ]


def flat(files: Iterable[tuple[str, Entry]]) -> bytes:
    lines = (f"{path}\t{e.version}\t{e.digest}\t{e.size}\t{e.id}" for path, e in files)
    return "\n".join(lines).encode()


def versions_of(
    store: ChunkStore, root: Root, files: list[tuple[str, Entry]], turns: int
) -> Iterable[tuple[float, Root]]:
    rng = random.Random(5)
    for _ in range(turns):
        path, entry = rng.choice(files)
        changed = {path: entry._replace(version=2, sha256=rng.randbytes(32))}
        yield timed(lambda changed=changed: edit(store, root, changed))  # type: ignore[misc]


def measure(count: int) -> list[tuple[str, str]]:
    files = some_files(count)
    rng = random.Random(9)
    shuffled = rng.sample([path for path, _ in files], count)
    text = flat(files)
    limit, _ = timed(lambda: (sorted(shuffled), blake2b(text).digest()))
    peer, packed = timed(lambda: zlib.compress(text))
    repeat, _ = timed(lambda: zlib.compress(zlib.decompress(packed)))
    store = MemoryChunks()
    built, root = timed(lambda: build(store, files))
    stored = sum(map(len, store.chunks.values()))
    rows = [
        ("build, s", f"{built:.2f}"),
        ("  limit: sort and hash, s", f"{limit:.2f}"),
        ("  flat list: compress, s", f"{peer:.2f}"),
        ("bytes of a set", f"{stored:,} in {len(store.chunks):,} chunks"),
        ("  flat list", f"{len(packed):,}"),
        ("iterate all, s", f"{timed(lambda: drain(iterate(store, root)))[0]:.2f}"),
    ]
    times, sizes, chunks = [], [], []
    store.reset_tally()
    for spent, _ in versions_of(store, root, files, TURNS):
        times.append(spent * 1e3)
        sizes.append(sum(map(len, store.written.values())))
        chunks.append(len(store.written))
        store.reset_tally()
    rows += [
        ("one file changed, ms (median, max)", f"{statistics.median(times):.2f}, {max(times):.2f}"),
        ("  bytes written (mean, max)", f"{statistics.mean(sizes):,.0f}, {max(sizes):,}"),
        ("  chunks written (mean, max)", f"{statistics.mean(chunks):.1f}, {max(chunks)}"),
        ("  flat list: ms and bytes", f"{repeat * 1e3:.0f}, {len(packed):,}"),
    ]
    for changes in (1, 100):
        picked = rng.sample(files, changes)
        other = edit(store, root, {path: e._replace(version=2) for path, e in picked})
        spent, found = timed(lambda other=other: drain(diff(store, root, other)))  # type: ignore[misc]
        assert found == changes
        rows.append((f"difference with {changes} changed, ms", f"{spent * 1e3:.2f}"))
        spent, _ = timed(lambda other=other: merge(store, [root, other], lambda _: None))  # type: ignore[misc]
        rows.append((f"merge with {changes} in conflict, ms", f"{spent * 1e3:.2f}"))
    path = files[count // 2][0]
    prefix = path[: path.rindex("/") + 1]
    rows += [
        ("look up one path, ms", f"{timed(lambda: get(store, root, [path]))[0] * 1e3:.2f}"),
        (
            "count and size of a folder, ms",
            f"{timed(lambda: totals(store, root, prefix))[0] * 1e3:.2f}",
        ),
        *in_sqlite(files),
    ]
    return rows


def in_sqlite(files: list[tuple[str, Entry]]) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteChunks(Path(folder) / "chunks.db")
        with closing(store.connection) as connection:

            def first() -> Root:
                root = build(store, files)
                connection.commit()
                return root

            built, root = timed(first)
            read, _ = timed(lambda: drain(iterate(store, root)))
            times = []
            for spent, _ in versions_of(store, root, files, TURNS):
                times.append((spent + timed(connection.commit)[0]) * 1e3)
    return [
        ("SQLite: build and commit, s", f"{built:.2f}"),
        ("SQLite: iterate all, s", f"{read:.2f}"),
        (
            "SQLite: one file changed and commit, ms (median, max)",
            f"{statistics.median(times):.2f}, {max(times):.2f}",
        ),
    ]


def main(counts: list[int]) -> None:
    for count in counts:
        print(f"\n{count:,} files")
        for name, value in measure(count):
            print(f"  {name:<56}{value}")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [10_000, 100_000])
