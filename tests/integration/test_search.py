"""Search: the SQL of both databases agrees with what the language means, query by query."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from acai.identity.service import Identity
from acai.lake.search import Search
from acai.model.errors import InvalidQuery
from acai.model.identity import Principal, Role
from acai.model.metadata import EntityKind, MetadataValue
from acai.model.query import Entity, format_query, parse_query, resolve, select
from acai.model.query.ast import Relation
from acai.stores.records import jobs, metadata
from acai.stores.records.database import Database, Transaction, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import this_project
from acai.stores.records.search import find
from acai.stores.records.search import find as run_find
from acai.stores.records.tables_jobs import jobs as jobs_table
from acai.stores.records.tables_lake import set_versions, sets

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
MODELS = ("BERT", "mlp", "resnet-50", "it's", "naïve", "x" * 600, "x" * 600 + "y")
TAGS = ("baseline", "nightly", "a b")


class World:
    """A project with sets and jobs, in the database and as the evaluator's entities."""

    def __init__(self, database: Database, seed: int = 7) -> None:
        self.database = database
        self.random = random.Random(seed)
        identity = Identity(database, failure_limit=100)
        made = identity.create_project("ours", "ann")
        self.ann = identity.authenticate(made.admin.token, "here", None)
        bob = identity.create_user(self.ann, "bob", Role.MEMBER)
        self.bob = identity.authenticate(bob.token, "here", None)
        other = identity.create_project("theirs", "eve")
        self.eve = identity.authenticate(other.admin.token, "here", None)
        self.sets: dict[int, Entity] = {}
        self.jobs: dict[int, Entity] = {}

    def fill(self, count: int) -> None:
        with self.database.write(self.ann.project) as tx:
            for number in range(count):
                self._add_job(tx, number)
        with self.database.write(self.eve.project) as tx:
            row = self._set_row(tx, self.eve, "foreign", 1, NOW, None)
            metadata.write(tx, EntityKind.SET, [row], {"precision": 99.0, "model": "BERT"}, TAGS)

    def _add_job(self, tx: Transaction, number: int) -> None:
        who = self.random.choice([self.ann, self.bob])
        when = NOW - timedelta(hours=self.random.randrange(100))
        inputs = self.random.sample(
            sorted(self.sets), min(len(self.sets), self.random.randrange(3))
        )
        row = jobs.add(
            tx,
            user=who.user_id,
            name=self.random.choice([None, f"job{number % 5}"]),
            command="python train.py",
            status=self.random.choice(["finished", "failed"]),
            now=when,
            inputs=inputs,
        )
        runtime = self.random.choice([None, 30.0, 5000.0])
        tx.execute(
            update(jobs_table)
            .where(jobs_table.c.project_id == this_project(), jobs_table.c.id == row.id)
            .values(runtime=runtime)
        )
        values: dict[str, MetadataValue] = {
            "id": f"job:{row.public_id}",
            "creator": who.user.name,
            "status": row.status,
            "command": row.command,
            "create_time": when,
            "submit_time": when,
        }
        if row.name is not None:
            values["name"] = row.name
        if runtime is not None:
            values["runtime"] = runtime
        own, tags = self._describe(tx, EntityKind.JOB, row.id)
        outputs: list[Entity] = []
        job = Entity(
            sequence=row.id,
            values=values | own,
            tags=tags,
            related={Relation.INPUT: [self.sets[one] for one in inputs], Relation.OUTPUT: outputs},
        )
        self.jobs[row.id] = job
        for version in range(self.random.randrange(3)):
            name = f"set{number}"
            made = when + timedelta(minutes=version)
            producer = row.id if self.random.random() < 0.8 else None
            set_id = self._set_row(tx, who, name, version + 1, made, producer)
            facts, tags = self._describe(tx, EntityKind.SET, set_id)
            entity = Entity(
                sequence=set_id,
                values={
                    "id": f"set:{name}:{version + 1}",
                    "name": name,
                    "version": version + 1,
                    "creator": who.user.name,
                    "create_time": made,
                    "size": 100 * number,
                    "file_count": number + 1,
                    "hash": "ab" * 20,
                }
                | facts,
                tags=tags,
                related={Relation.JOB: [job] if producer else []},
            )
            self.sets[set_id] = entity
            if producer:
                outputs.append(entity)

    def _set_row(
        self,
        tx: Transaction,
        who: Principal,
        name: str,
        version: int,
        when: datetime,
        job: int | None,
    ) -> int:
        from sqlalchemy import select as sql

        number = int("".join(c for c in name if c.isdigit()) or 0)
        tx.insert_missing(sets, [{"name": name, "latest": version}], unique=("project_id", "name"))
        set_id = tx.execute(
            sql(sets.c.id).where(sets.c.project_id == this_project(), sets.c.name == name)
        ).scalar_one()
        row: int = tx.execute(
            insert(set_versions)
            .values(
                project_id=this_project(),
                set_id=set_id,
                version=version,
                root=b"r" * 20,
                content=bytes.fromhex("ab" * 20),
                file_count=number + 1,
                size=100 * number,
                first_path="/a",
                last_path="/b",
                user_id=who.user_id,
                job_id=job,
                created_at=when,
            )
            .returning(set_versions.c.id)
        ).scalar_one()
        return row

    def _describe(
        self, tx: Transaction, kind: EntityKind, row: int
    ) -> tuple[dict[str, MetadataValue], frozenset[str]]:
        choose = self.random
        values: dict[str, MetadataValue] = {}
        if choose.random() < 0.8:
            values["precision"] = choose.choice([0, 0.25, 0.5, 0.75, 1, choose.random()])
        if choose.random() < 0.7:
            values["model"] = choose.choice(MODELS)
        if choose.random() < 0.5:
            mixed: list[MetadataValue] = [1, 2.5, "1", "two", True, False, NOW, NOW - timedelta(1)]
            values["mixed"] = choose.choice(mixed)
        if choose.random() < 0.5:
            values["reviewed"] = choose.random() < 0.5
        if choose.random() < 0.5:
            values["trained_at"] = NOW - timedelta(hours=choose.randrange(80))
        tags = frozenset(tag for tag in TAGS if choose.random() < 0.4)
        if values or tags:
            metadata.write(tx, kind, [row], values, tags)
        return values, tags

    def expect(self, kind: EntityKind, text: str) -> list[int]:
        query = resolve(parse_query(text, kind), now=NOW, me="ann")
        pool = self.sets if kind is EntityKind.SET else self.jobs
        return [one.sequence for one in select(query, pool.values())]

    def found(self, kind: EntityKind, text: str) -> list[int]:
        query = resolve(parse_query(text, kind), now=NOW, me="ann")
        with self.database.read(self.ann.project) as tx:
            return find(tx, kind, query, limit=1000)


class Queries:
    """Random queries over the keys that the world uses."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def query(self, kind: EntityKind) -> str:
        choose = self.random
        text = self.condition(kind, 3) if choose.random() < 0.9 else ""
        ending = choose.random()
        key = choose.choice(["precision", "mixed", "model", "trained_at", "create_time", "nothing"])
        if ending < 0.25:
            text += f" {choose.choice(['max', 'min'])} {key}"
        elif ending < 0.7:
            second = choose.choice(["", ", name", ", precision desc"])
            text += f" order by {key} {choose.choice(['asc', 'desc'])}{second}"
            if choose.random() < 0.5:
                text += f" limit {choose.randrange(1, 9)}"
        return text.strip()

    def condition(self, kind: EntityKind, depth: int) -> str:
        choose = self.random
        roll = choose.random()
        if depth and roll < 0.45:
            joiner = choose.choice([" and ", " and ", " or "])
            parts = [self.condition(kind, depth - 1) for _ in range(choose.randrange(2, 4))]
            return "(" + joiner.join(parts) + ")"
        if depth and roll < 0.55:
            return "not (" + self.condition(kind, depth - 1) + ")"
        return self.predicate(kind)

    def predicate(self, kind: EntityKind) -> str:
        choose = self.random
        prefix = ""
        if choose.random() < 0.25:
            prefix = "job." if kind is EntityKind.SET else choose.choice(["input.", "output."])
        number = choose.choice(["0", "0.25", "0.5", "0.9", "1", "2.5"])
        model = choose.choice(["BERT", "mlp", "'it''s'", "'naïve'", "nope", "'" + "x" * 600 + "'"])
        comparator = choose.choice(["=", "!=", "<", "<=", ">", ">="])
        equality = choose.choice(["=", "!="])
        return choose.choice(
            [
                f"{prefix}precision {comparator} {number}",
                f"{prefix}precision between 0 and {number}",
                f"{prefix}precision not between 0.2 and 0.6",
                f"{prefix}model {comparator} {model}",
                f"{prefix}model in (BERT, mlp)",
                f"{prefix}model not in (BERT, {model})",
                f"{prefix}model ~ '^[Bm]'",
                f"{prefix}model !~ 'E|l'",
                f"{prefix}mixed {comparator} {number}",
                f"{prefix}mixed {equality} 'two'",
                f"{prefix}mixed {equality} true",
                f"{prefix}mixed {comparator} yesterday",
                f"has {prefix}{choose.choice(['mixed', 'model', 'nothing', 'tag'])}",
                f"{prefix}tag {equality} {choose.choice(['baseline', 'nightly', 'none'])}",
                f"{prefix}tag in (baseline, 'a b')",
                f"{prefix}tag ~ 'night'",
                f"{prefix}reviewed = {choose.choice(['true', 'false'])}",
                f"{prefix}trained_at {comparator} -30h",
                f"{prefix}creator {equality} me",
                f"{prefix}create_time >= today",
                f"{prefix}name ~ '[0-4]$'",
                f"{prefix}nothing = 1",
            ]
        )


@pytest.mark.parametrize("seed", range(4))
def test_sql_means_what_the_language_means(
    database: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(database, seed)
    world.fill(40)
    queries = Queries(seed)
    for number in range(150):
        if number == 75:  # few rows: make every strategy take its turn
            monkeypatch.setattr("acai.stores.records.search.running._FEW", 1)
            monkeypatch.setattr("acai.stores.records.search.running._STEPS", (6, 12))
        kind = queries.random.choice([EntityKind.SET, EntityKind.JOB])
        text = queries.query(kind)
        shown = format_query(parse_query(text, kind))
        assert world.found(kind, text) == world.expect(kind, text), f"{kind}: {shown}"


def test_the_papers_example(database: Database) -> None:
    """All sets made by jobs that John submitted today, with model BERT, precision above 0.5."""
    world = World(database)
    identity = Identity(database, failure_limit=9)
    made = identity.create_user(world.ann, "John", Role.MEMBER)
    john = identity.authenticate(made.token, "here", None)
    with database.write(world.ann.project) as tx:
        rows = {}
        for name, who, when, model, precision in (
            ("good", john, NOW, "BERT", 0.71),
            ("weak", john, NOW, "BERT", 0.41),
            ("other", john, NOW, "GPT", 0.9),
            ("old", john, NOW - timedelta(days=2), "BERT", 0.8),
            ("anns", world.ann, NOW, "BERT", 0.9),
        ):
            job = jobs.add(
                tx, user=who.user_id, name=name, command="train", status="finished", now=when
            )
            rows[name] = world._set_row(tx, who, name, 1, when, job.id)
            metadata.write(tx, EntityKind.JOB, [job.id], {"model": model})
            metadata.write(tx, EntityKind.SET, [rows[name]], {"precision": precision})
    search = Search(database, lambda: NOW)
    text = (
        "job.creator = John and job.submit_time >= today and job.model = BERT and precision > 0.5"
    )
    found = search.find(world.bob, EntityKind.SET, text, limit=10, offset=0)
    assert [one.name for one in found] == ["good"]
    assert found[0].meta == {"precision": 0.71}


def test_pages_follow_each_other(database: Database) -> None:
    world = World(database)
    world.fill(30)
    query = resolve(parse_query("order by precision desc", EntityKind.SET), now=NOW, me="ann")
    with database.read(world.ann.project) as tx:
        whole = run_find(tx, EntityKind.SET, query, limit=1000)
        pages = [run_find(tx, EntityKind.SET, query, limit=5, offset=n) for n in range(0, 60, 5)]
    assert [one for page in pages for one in page] == whole


def test_what_was_never_said_before_is_found(database: Database) -> None:
    """How a query is run is kept with the keys that there were; new ones are not missed."""
    world = World(database)
    search = Search(database, lambda: NOW)

    def found(text: str, who: Principal) -> list[str]:
        return [one.name for one in search.find(who, EntityKind.SET, text, limit=9, offset=0)]

    asked = ["late = 1", "late = 'one'", "tag = late", "job.late = 1", "order by late desc limit 2"]
    assert [found(text, world.ann) for text in asked] == [[]] * 5
    with database.write(world.ann.project) as tx:
        job = jobs.add(
            tx, user=world.ann.user_id, name="j", command="c", status="finished", now=NOW
        )
        numbered, named, tagged = (
            world._set_row(tx, world.ann, name, 1, NOW, job.id)
            for name in ("numbered", "named", "tagged")
        )
    for row, values, tags, expected in (
        (numbered, {"late": 1}, [], [["numbered"], [], [], [], ["numbered", "tagged"]]),
        (named, {"late": "one"}, [], [["numbered"], ["named"], [], [], ["numbered", "named"]]),
        (tagged, {}, ["late"], [["numbered"], ["named"], ["tagged"], [], ["numbered", "named"]]),
    ):
        with database.write(world.ann.project) as tx:
            metadata.write(tx, EntityKind.SET, [row], values, tags)
        assert [found(text, world.ann) for text in asked] == expected
    with database.write(world.ann.project) as tx:
        metadata.write(tx, EntityKind.JOB, [job.id], {"late": 1})
    assert found("job.late = 1", world.ann) == ["tagged", "named", "numbered"]
    assert [found(text, world.eve) for text in asked] == [[]] * 5


def test_databases_with_other_columns_do_not_share_plans(tmp_path: Path) -> None:
    for keys in (("model", "epochs"), ("epochs", "model")):
        database = open_database(f"sqlite:///{tmp_path / keys[0]}.db")
        migrate(database)
        world = World(database)
        with database.write(world.ann.project) as tx:
            row = world._set_row(tx, world.ann, "one", 1, NOW, None)
            for key in keys:
                metadata.write(tx, EntityKind.SET, [row], {key: len(key)})
        found = Search(database, lambda: NOW).find(
            world.ann, EntityKind.SET, "epochs = 6 and model = 5", limit=9, offset=0
        )
        assert [one.name for one in found] == ["one"]
        database.close()


def test_other_projects_are_out_of_reach(database: Database) -> None:
    world = World(database)
    world.fill(5)
    search = Search(database, lambda: NOW)
    assert search.find(world.ann, EntityKind.SET, "precision = 99", limit=9, offset=0) == []
    assert len(search.find(world.eve, EntityKind.SET, "", limit=9, offset=0)) == 1
    assert search.find(world.eve, EntityKind.JOB, "", limit=9, offset=0) == []


def test_a_wrong_query_says_where(database: Database, tmp_path: Path) -> None:
    world = World(database)
    search = Search(database, lambda: NOW)
    with pytest.raises(InvalidQuery) as caught:
        search.find(world.ann, EntityKind.SET, "precision >", limit=9, offset=0)
    assert caught.value.detail["position"] == 11


def test_values_keep_their_types(database: Database) -> None:
    world = World(database)
    values: dict[str, MetadataValue] = {
        "n": 5,
        "big": 2**53 - 1,
        "f": 0.1,
        "t": NOW,
        "b": False,
        "s": "5",
        "long": "ü" * 3000,
    }
    with database.write(world.ann.project) as tx:
        row = world._set_row(tx, world.ann, "one", 1, NOW, None)
        metadata.write(tx, EntityKind.SET, [row], values, ["x"])
        metadata.write(tx, EntityKind.SET, [row], {"n": "now a text"}, ["x", "y"])
        said = metadata.read(tx, EntityKind.SET, [row])[row]
        assert said.values == values | {"n": "now a text"}
        assert {k: type(v) for k, v in said.values.items()} == {
            k: type(v) for k, v in (values | {"n": "text"}).items()
        }
        assert said.tags == {"x", "y"}
        assert metadata.remove(tx, EntityKind.SET, [row], ["n", "t", "none"]) == 2
        assert metadata.remove_tags(tx, EntityKind.SET, [row], ["x"]) == 1
        said = metadata.read(tx, EntityKind.SET, [row])[row]
        assert set(said.values) == {"big", "f", "b", "s", "long"}
