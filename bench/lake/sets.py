"""Making sets, on SQLite and on PostgreSQL, over the whole service.

    python bench/lake/sets.py [FILES]        default: 1000000

A set of all files is made from a directory; then one file of it is changed again and again, it
is copied under another name, merged, cut and compared. The limit of the first is reading the
directory's rows without making anything of them. The longest wait is that of another writer
in the same database, who commits one row at a time while the set is made.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from provenance import databases
from sqlalchemy import func, insert, select, update

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.model.identity import Principal
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records import paths
from acai.stores.records import sets as records
from acai.stores.records.database import Database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_lake import chunks, file_versions, files, uploads

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TURNS = 20


def path_of(number: int) -> str:
    return f"/data/train/class_{number // 1000:04d}/img_{number:07d}.jpg"


def fill(database: Database, who: Principal, count: int) -> None:
    """Files straight into the tables: this is not about uploads."""
    with database.write(who.project) as tx:
        tx.execute(
            insert(uploads).values(
                project_id=this_project(),
                public_id="up-bench",
                user_id=who.user_id,
                state="committed",
                created_at=NOW,
                touched_at=NOW,
            )
        )
        upload = tx.execute(select(uploads.c.id).where(mine(uploads))).scalar_one()
        numbers = iter(range(count))
        while batch := list(islice(numbers, 20_000)):
            split = [(number, path_of(number)) for number in batch]
            tx.insert(
                files,
                (
                    {"parent": p, "name": n, "path": path, "latest": 1, "hidden": False}
                    for _, path in split
                    for p, n in (paths.split(path),)
                ),
            )
            last = tx.execute(select(func.max(files.c.id)).where(mine(files))).scalar_one()
            first = last - len(batch) + 1
            tx.insert(
                file_versions,
                (_version(who, upload, first + i, n, 1) for i, n in enumerate(batch)),
            )


def _version(
    who: Principal, upload: int, file_id: int, number: int, version: int
) -> dict[str, object]:
    return {
        "file_id": file_id,
        "version": version,
        "sha256": f"{number:032x}{version:032x}",
        "size": 1000 + number % 777,
        "content_type": None,
        "user_id": who.user_id,
        "created_at": NOW,
        "upload_id": upload,
    }


def change(database: Database, who: Principal, number: int) -> str:
    """The next version of one file; returns its path."""
    parent, name = paths.split(path_of(number))
    with database.write(who.project) as tx:
        row = tx.execute(
            select(files.c.id, files.c.latest).where(
                mine(files), files.c.parent == parent, files.c.name == name
            )
        ).one()
        upload = tx.execute(select(uploads.c.id).where(mine(uploads)).limit(1)).scalar_one()
        tx.execute(update(files).where(mine(files), files.c.id == row.id).values(latest=2))
        tx.insert(file_versions, [_version(who, upload, row.id, number, row.latest + 1)])
    return path_of(number)


def stored(database: Database, who: Principal) -> tuple[int, int]:
    with database.read(who.project) as tx:
        count, size = tx.execute(
            select(func.count(), func.sum(func.length(chunks.c.data))).where(mine(chunks))
        ).one()
    return count, size or 0


def show(name: str, seconds: float, remark: str = "") -> None:
    print(f"| {name} | {seconds * 1000:,.0f} | {remark} |", flush=True)


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class OtherWriter:
    """Commits one row at a time beside what is measured, and remembers its longest wait."""

    def __init__(self, database: Database, who: Principal) -> None:
        self._database, self._who = database, who
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.waits: list[float] = []

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            self.waits.append(timed(self._write))

    def _write(self) -> None:
        with self._database.write(self._who.project) as tx:
            tx.execute(update(uploads).where(mine(uploads)).values(touched_at=NOW))

    def __enter__(self) -> OtherWriter:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()


def measure(database: Database, count: int) -> None:
    identity = Identity(database, failure_limit=100)
    made = identity.create_project("bench", "ann")
    who = identity.authenticate(made.admin.token, "here", None)
    print(f"\n{database.dialect}: files in {timed(lambda: fill(database, who, count)):.0f} s")
    print("| | ms | |\n|---|---|---|")
    store = LocalPartsStore(Path(tempfile.mkdtemp()), sign_secret=b"-", durable=False)
    service = Sets(
        database, Specs(database, Files(database, store, timedelta(hours=1))), lambda: NOW
    )

    def create(name: str, *specs: str) -> float:
        return timed(lambda: service.create(who, name, specs))

    def read_rows() -> None:
        with database.read(who.project) as tx:
            for _ in records.files_under(tx, "/data/"):
                pass

    limit = timed(read_rows)
    show(f"limit: read the rows of {count:,} files", limit)
    with OtherWriter(database, who) as beside:
        seconds = create("Big", "/data/")
    remark = f"{seconds / limit:.1f} of the limit; another writer waited {max(beside.waits):.2f} s"
    show(f"a set of {count:,} files", seconds, remark)
    times, sizes = [], []
    for turn in range(TURNS):
        path = change(database, who, (turn * 7919 * 13) % count)
        before = stored(database, who)[1]
        times.append(create("Big", "/@Big", path))
        sizes.append(stored(database, who)[1] - before)
    times.sort()
    remark = f"p95 {times[-2] * 1000:.0f} ms; {statistics.mean(sizes):,.0f} bytes written"
    show("one file changed, median", statistics.median(times), remark)
    before = stored(database, who)
    seconds = create("Copy", "/@Big")
    remark = f"{stored(database, who)[0] - before[0]} chunks written"
    show("the same set under another name", seconds, remark)
    last = (count - 1) // 1000
    show("a part of 1,000 files", create("Part", f"/data/train/class_{last:04d}/@Big"))
    show("… merged into the whole", create("Both", "/@Big", "/@Part"))
    seconds = timed(lambda: service.diff_summary(who, "Big:1", "Big"))
    show(f"difference of {TURNS} files", seconds)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with databases() as opened:
        for database in opened:
            migrate(database)
            measure(database, count)


if __name__ == "__main__":
    main()
