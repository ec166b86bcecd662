"""Keys and values to complete a query with: in order, by prefix, and of one project only."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import event

from acai.identity.service import Identity
from acai.lake.vocabulary import Vocabulary
from acai.model.identity import Principal
from acai.model.metadata import EntityKind
from acai.stores.records import metadata
from acai.stores.records.database import Database
from acai.stores.records.tables_meta import meta_texts
from servers.embedded import Embedded

MODELS = ("BERT", "BERT-large", "Bert", "it's", "mlp", "naïve", "x" * 600, "\ud7ff", "\U0010ffff")


@pytest.fixture
def ann(database: Database) -> Principal:
    identity = Identity(database, failure_limit=100)
    ann = identity.authenticate(identity.create_project("ours", "ann").admin.token, "here", None)
    eve = identity.authenticate(identity.create_project("theirs", "eve").admin.token, "here", None)
    with database.write(eve.project) as tx:
        metadata.write(tx, EntityKind.SET, [1], {"secret": "theirs", "model": "GPT"}, ["leak"])
    with database.write(ann.project) as tx:
        for number in range(60):
            values = {"model": MODELS[number % len(MODELS)], "precision": number / 60}
            metadata.write(tx, EntityKind.SET, [number], values, [f"tag {number % 3}"])
        metadata.write(tx, EntityKind.SET, [1], {"precision": "unknown", "gone": 1})
        metadata.remove(tx, EntityKind.SET, [1], ["gone"])
        metadata.write(tx, EntityKind.JOB, [1], {"args.epochs": 3, "args.opt": "adam"})
    return ann


def keys(words: Vocabulary, caller: Principal, kind: EntityKind, prefix: str) -> dict[str, Any]:
    found = words.keys(caller, kind, prefix=prefix, after="", limit=100)
    assert [one.key for one in found] == sorted(one.key for one in found)
    return {one.key: (*one.types, one.built_in) for one in found}


def test_keys_are_those_in_use_and_those_of_the_platform(
    database: Database, ann: Principal
) -> None:
    words = Vocabulary(database)
    assert keys(words, ann, EntityKind.SET, "m") == {"model": ("text", False)}
    found = keys(words, ann, EntityKind.SET, "")
    assert found["precision"] == ("number", "text", False)
    assert found["size"] == ("size", True)
    assert found["tag"] == ("text", True)
    assert not {"secret", "gone", "status", "content_type"} & found.keys()
    assert keys(words, ann, EntityKind.JOB, "args.") == {
        "args.epochs": ("number", True),
        "args.opt": ("text", True),
    }
    assert keys(words, ann, EntityKind.JOB, "input.mod") == {"input.model": ("text", False)}
    assert keys(words, ann, EntityKind.SET, "job.args.o") == {"job.args.opt": ("text", True)}
    assert "job.name" in keys(words, ann, EntityKind.SET, "job.")
    assert keys(words, ann, EntityKind.FILE, "mod") == {}


def test_values_come_once_each_by_prefix_and_in_pages(database: Database, ann: Principal) -> None:
    words = Vocabulary(database)

    def values(key: str, prefix: str = "", after: str = "", limit: int = 100) -> list[str]:
        kind = EntityKind.SET
        return list(words.values(ann, kind, key, prefix=prefix, after=after, limit=limit))

    whole = sorted(one[:512] for one in MODELS)
    assert values("model") == whole
    assert values("model", "BE") == ["BERT", "BERT-large"]
    assert values("model", "BERT", limit=1) == ["BERT"]
    assert values("model", "BE", after="BERT") == ["BERT-large"]
    assert values("model", "\ud7ff") == ["\ud7ff"]
    assert values("model", "\U0010ffff") == ["\U0010ffff"]
    assert values("model", "nothing") == []
    page, paged = values("model", limit=2), []
    while page:
        paged += page
        page = values("model", after=page[-1], limit=2)
    assert paged == whole
    assert values("tag") == ["tag 0", "tag 1", "tag 2"]
    assert values("precision") == ["unknown"]
    assert values("job.args.opt") == ["adam"]
    assert values("job.status", "l") == ["launching", "lost"]
    assert values("creator") == ["ann"]
    assert values("secret") == values("size") == values("job.args.epochs") == []


def test_a_value_that_many_share_is_skipped(database: Database, ann: Principal) -> None:
    """What is read is as much as what is answered: SQLite and PostgreSQL tell by their counts."""
    with database.write(ann.project) as tx:
        for start in range(0, 20_000, 5000):
            entities = range(1000 + start, 1000 + start + 5000)
            metadata.write(tx, EntityKind.SET, list(entities), {"shared": f"v{start // 10_000}"})
        metadata.write(tx, EntityKind.SET, [1000], {"shares": "nothing"})
        tx.analyze(meta_texts)
    words = Vocabulary(database)
    steps = _Steps(database)
    found = words.values(ann, EntityKind.SET, "shared", prefix="", after="", limit=100)
    assert found == ["v0", "v1"]
    assert keys(words, ann, EntityKind.SET, "sh").keys() == {"shared", "shares"}
    assert 0 < steps.read() < 100


class _Steps:
    """Rows, or on SQLite some steps of its machine for each, that the statements after it read."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._steps = 0
        event.listen(database.engine, "before_cursor_execute", self._explain)

    def _explain(self, _c: Any, cursor: Any, text: str, params: Any, *_more: Any) -> None:
        if "step" not in text and "coalesce" not in text:
            return
        raw = cursor.connection
        if self._database.dialect == "sqlite":
            raw.set_progress_handler(self._count, 100)
            return
        plan = raw.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", params).fetchone()[0]
        self._steps += _rows(plan[0]["Plan"])

    def _count(self) -> int:
        self._steps += 1  # a hundred steps of the machine: some ten rows
        return 0

    def read(self) -> int:
        event.remove(self._database.engine, "before_cursor_execute", self._explain)
        return self._steps


def _rows(plan: dict[str, Any]) -> int:
    each = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    own = int(each * plan["Actual Loops"])
    return own + sum(_rows(part) for part in plan.get("Plans", ()))


def test_over_http(small_house: Embedded) -> None:
    lake = small_house.client()

    def get(path: str, **query: str | int) -> Any:
        return small_house.call(
            "GET", f"/api/v1/metadata/{path}?{urlencode(query)}", token=small_house.token
        )

    job = lake.run("true", name="first", meta={"model": "BERT"}, tags=["a b"])
    assert get("keys", kind="job", prefix="mod").json == {
        "items": [{"key": "model", "types": ["text"], "built_in": False}],
        "next": None,
    }
    lake.set_metadata(f"job:{job.id}", {"model": "mlp", "mood": "good"})
    first = get("keys", kind="job", prefix="mo", limit=1).json
    assert [one["key"] for one in first["items"]] == ["model"]
    rest = get("keys", kind="job", prefix="mo", limit=1, cursor=first["next"]).json
    assert [one["key"] for one in rest["items"]] == ["mood"] and rest["next"] is None
    assert get("values", kind="job", key="model").json == {"items": ["mlp"], "next": None}
    assert get("values", kind="job", key="tag", prefix="a").json["items"] == ["a b"]
    for query in (
        {"kind": "cat"},
        {"kind": "job", "limit": 0},
        {"kind": "job", "prefix": "x" * 513},
    ):
        assert get("keys", **query).code == "invalid_input"
    assert get("values", kind="job").code == "invalid_input"
