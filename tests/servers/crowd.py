"""A project that has been used for long, written straight into its database.

Thousands of sets and jobs would take an hour to make by running them; what a page or a query
makes of so many can be seen all the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import insert, select, update

from acai.engine.views import REQUEST
from acai.identity.service import Identity
from acai.model.identity import Principal
from acai.model.ids import public_id
from acai.model.jobs import JobRequest, OutputSpec, Resources
from acai.model.metadata import EntityKind
from acai.stores.records import jobs as job_records
from acai.stores.records import metadata
from acai.stores.records.database import Database, Transaction, open_database
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_jobs import job_inputs, jobs
from acai.stores.records.tables_lake import edges, set_versions, sets

NOW = datetime.now(UTC)
MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Made:
    """A set to come: what it is called, the sets that it is made of, and whether by a job."""

    name: str
    sources: tuple[int, ...]
    by_job: bool


def plan(nodes: int) -> list[Made]:
    """Sets, most of them with a job of its own: together so many nodes of a drawing.

    Data comes in versions, each made of the one before; each is cleaned and split, a dozen models
    are trained on it, some of them tuned, and a report is made of the best.
    """
    rng = random.Random(nodes)
    planned: list[Made] = []

    def make(name: str, *sources: int, by_job: bool = True) -> int:
        planned.append(Made(name=name, sources=tuple(sorted({*sources})), by_job=by_job))
        return len(planned) - 1

    latest: dict[int, int] = {}
    while sum(1 + one.by_job for one in planned) < nodes:
        line = rng.randrange(12)
        before = [latest[line]] if line in latest else []
        latest[line] = make(f"raw-{line}", *before, by_job=False)
        split = make(f"split-{line}", make(f"clean-{line}", latest[line]))
        kinds = rng.sample(("bert-base", "mlp", "lstm", "forest", "bert-large"), 3)
        models = [make(f"model-{kind}-{line}", split) for kind in kinds for _ in range(4)]
        best = [make(f"tuned-{line}", one, split) for one in rng.sample(models, 3)]
        make(f"report-{line}", *best)
    return _cut(planned, nodes)


def _cut(planned: list[Made], nodes: int) -> list[Made]:
    """Exactly so many nodes: the last set may have to do without its job."""
    drawn = 0
    for number, one in enumerate(planned):
        drawn += 1 + one.by_job
        if drawn >= nodes:
            return [*planned[:number], replace(one, by_job=one.by_job and drawn == nodes)]
    return planned


def fill(home: Path, token: str, nodes: int) -> int:
    """Write a plan into the project that `token` is for; returns the number of edges.

    The sets hold the files of the latest set that was there before, if there was one.
    """
    database = open_database(f"sqlite:///{home / 'acai.db'}")
    try:
        who = Identity(database, failure_limit=10).authenticate(token, "here", None)
        return _write(database, who, plan(nodes))
    finally:
        database.close()


def _write(database: Database, who: Principal, planned: list[Made]) -> int:
    began = NOW - timedelta(minutes=2 * len(planned))
    with database.write(who.project) as tx:
        job_ids = _jobs(tx, who, planned, began)
        set_ids = _sets(tx, planned)
        first = _versions(tx, who, planned, set_ids, job_ids, began)
        made = [
            {
                "source_id": first + source,
                "target_id": first + number,
                "action": "job" if one.by_job else "creation",
                "job_id": job_ids.get(number),
                "created_at": began + timedelta(minutes=2 * number),
            }
            for number, one in enumerate(planned)
            for source in one.sources
        ]
        tx.insert(edges, made)
        output = select(set_versions.c.id).where(
            mine(set_versions), set_versions.c.job_id == jobs.c.id
        )
        tx.execute(update(jobs).where(mine(jobs)).values(output_set_id=output.scalar_subquery()))
        tx.insert(
            job_inputs,
            (
                {"job_id": edge["job_id"], "set_version_id": edge["source_id"]}
                for edge in made
                if edge["job_id"]
            ),
        )
    return len(made)


def _jobs(tx: Transaction, who: Principal, planned: list[Made], began: datetime) -> dict[int, int]:
    rng = random.Random(1)
    numbers = [number for number, one in enumerate(planned) if one.by_job]
    tx.insert(jobs, (_job(who, planned[n], n, began, rng) for n in numbers))
    rows = tx.execute(select(jobs.c.id).where(mine(jobs)).order_by(jobs.c.id)).scalars().all()
    ids = dict(zip(numbers, rows[-len(numbers) :], strict=True))
    for share, model in ((0, "BERT"), (1, "MLP"), (2, "a model with a rather long name, and <b>")):
        some = [ids[n] for n in numbers if n % 3 == share]
        metadata.write(tx, EntityKind.JOB, some, {"model": model, "args.lr": 0.1 / (1 + share)}, ())
    for row in rows[-50:]:
        metadata.write(tx, EntityKind.JOB, [row], {"loss": rng.random()}, ("baseline",))
        curve = [(1 / (1 + k), NOW + timedelta(seconds=k)) for k in range(30)]
        job_records.add_points(tx, row, {"loss": curve})
    return ids


def _job(
    who: Principal, one: Made, number: int, began: datetime, rng: random.Random
) -> dict[str, object]:
    submitted = began + timedelta(minutes=2 * number - 1)
    runtime = rng.lognormvariate(3, 1)
    request = JobRequest(
        name=f"make-{one.name}",
        command="python train.py --epochs {epochs} --lr {lr}",
        args={"epochs": 1 + number % 20, "lr": 0.001},
        output=OutputSpec(name=one.name, path="out/"),
        resources=Resources(cpu=0.5 + number % 4 / 2, memory=(256 << number % 4) * MIB),
    )
    return {
        "public_id": public_id("job"),
        "user_id": who.user_id,
        "name": request.name,
        "status": rng.choices(("finished", "failed", "killed"), weights=(90, 8, 2))[0],
        "command": f"python train.py --epochs {1 + number % 20} --lr 0.001",
        "submitted_at": submitted,
        "started_at": submitted + timedelta(seconds=2),
        "ended_at": submitted + timedelta(seconds=2 + runtime),
        "runtime": runtime,
        "queue_time": 2.0,
        "cost": runtime * 2e-5,
        "cpu": request.resources.cpu,
        "memory": request.resources.memory,
        "gpu": 0.0,
        "exit_code": 0,
        "request": REQUEST.dump_json(request).decode(),
        "attempt": 1,
        "settled": True,
        "queued_at": submitted,
    }


def _sets(tx: Transaction, planned: list[Made]) -> dict[str, int]:
    latest: dict[str, int] = {}
    for one in planned:
        latest[one.name] = latest.get(one.name, 0) + 1
    for name, version in latest.items():
        tx.execute(insert(sets).values(project_id=this_project(), name=name, latest=version))
    rows = tx.execute(select(sets).where(mine(sets)))
    return {row.name: row.id for row in rows}


def _versions(
    tx: Transaction,
    who: Principal,
    planned: list[Made],
    set_ids: dict[str, int],
    job_ids: dict[int, int],
    began: datetime,
) -> int:
    there = tx.execute(select(set_versions).where(mine(set_versions)).order_by("id")).all()
    held = there[-1]._asdict() if there else {"root": bytes(20), "content": bytes(20)}
    versions: dict[str, int] = {}
    rows = []
    for number, one in enumerate(planned):
        versions[one.name] = versions.get(one.name, 0) + 1
        rows.append(
            {
                "set_id": set_ids[one.name],
                "version": versions[one.name],
                "root": held["root"],
                "content": held["content"],
                "file_count": held.get("file_count", 1),
                "size": held.get("size", 1000),
                "first_path": held.get("first_path", "/a"),
                "last_path": held.get("last_path", "/z"),
                "user_id": who.user_id,
                "job_id": job_ids.get(number),
                "created_at": began + timedelta(minutes=2 * number),
                "removed_at": None,
            }
        )
    tx.insert(set_versions, rows)
    ids = tx.execute(select(set_versions.c.id).where(mine(set_versions)).order_by("id"))
    return int(ids.scalars().all()[-len(planned)])
