"""The engine's services on both databases: submitting, the agent's protocol, limits, the cache.

What an agent says is said here by hand, through the HTTP routes; `test_jobs.py` has real agents.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from acai.identity.tokens import new_token
from acai.stores.records import job_queue
from acai.stores.records.database import PLATFORM
from acai.stores.records.job_queue import Claim
from servers.embedded import Embedded

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Says what the agent of one attempt would say."""

    house: Embedded
    token: str
    attempt: int

    def say(self, verb: str, **body: Any) -> Any:
        answer = self.house.call(
            "POST",
            f"/api/v1/agent/{verb}",
            token=self.token,
            json_body={"attempt": self.attempt, **body},
        )
        assert answer.status == 200, answer.body
        return answer.json

    def end(self, outcome: str = "succeeded", **body: Any) -> Any:
        times = {"started": NOW.isoformat(), "ended": (NOW + timedelta(seconds=2)).isoformat()}
        return self.say("end", **{"outcome": outcome, "exit_code": 0, **times, **body})


def submit(house: Embedded, command: str = "true", **body: Any) -> Any:
    answer = house.call(
        "POST", "/api/v1/jobs", token=house.token, json_body={"command": command, **body}
    )
    assert answer.status == 201, answer.body
    return answer.json


def refused(house: Embedded, command: str = "true", **body: Any) -> tuple[str, str]:
    before = len(listed(house))
    answer = house.call(
        "POST", "/api/v1/jobs", token=house.token, json_body={"command": command, **body}
    )
    assert answer.status >= 400
    assert len(listed(house)) == before, "a refused job was queued"
    return answer.code, answer.json["error"]["message"]


def listed(house: Embedded, query: str = "") -> list[Any]:
    return list(house.call("GET", f"/api/v1/jobs{query}", token=house.token).json["items"])


def show(house: Embedded, job: str) -> Any:
    return house.call("GET", f"/api/v1/jobs/{job}", token=house.token).json


def launch(house: Embedded, job: str) -> Agent:
    """Give a job its turn, as the scheduler does."""
    token = new_token()
    database = house.platform.database
    with database.write(PLATFORM) as tx:
        row = next(
            one
            for queue in job_queue.queues(tx)
            for one in job_queue.heads(tx, queue.project, queue.user, 1000)
            if one.public_id == job
        )
        claim = Claim(job=row.id, token_lookup=token.lookup, token_hash=token.hash)
        (claimed,) = job_queue.claim(tx, [claim], datetime.now(UTC))
    return Agent(house=house, token=token.text, attempt=claimed.attempt)


def upload(agent: Agent, paths: list[str], data: bytes, scratch: Path) -> str:
    """An output as an agent sends it: everything but the commit. Its bytes are in the lake
    before, so that none need to be sent."""
    (scratch / "bytes").write_bytes(data)
    agent.house.client().upload({scratch / "bytes": "/seed/bytes"})
    opened = agent.house.call("POST", "/api/v1/uploads", token=agent.token, json_body={}).json
    digest = hashlib.sha256(data).hexdigest()
    announced = [{"path": path, "size": len(data), "sha256": digest} for path in paths]
    answer = agent.house.call(
        "POST",
        f"/api/v1/uploads/{opened['id']}/files",
        token=agent.token,
        json_body={"files": announced},
    )
    assert answer.json == {"missing": []}
    return str(opened["id"])


def lake_set(house: Embedded, name: str, paths: dict[str, bytes], scratch: Path) -> None:
    client = house.client()
    for i, (path, data) in enumerate(paths.items()):
        (scratch / f"{name}{i}").write_bytes(data)
        client.upload({scratch / f"{name}{i}": path})
    client.create_file_set(name, list(paths))


def test_the_whole_way_of_a_job(house: Embedded, tmp_path: Path) -> None:
    lake_set(house, "data", {"/data/a": b"1"}, tmp_path)
    made = submit(
        house,
        "train {epochs}",
        args={"epochs": 3},
        input=["data"],
        output={"name": "model"},
        tags=["first"],
        meta={"kind": "mlp"},
    )
    assert made["status"] == "queued" and made["command"] == "train 3"
    assert made["inputs"] == ["data:1"]
    agent = launch(house, made["id"])
    task = agent.say("begin", host="here")
    assert task["inputs"] == ["data:1"] and task["command"] == "train 3"
    assert task["output"] == {"name": "model", "path": "out/", "to": "/model/"}
    tag = {"n": 1, "target": "job", "key": "loss", "value": 0.5, "time": NOW.isoformat()}
    on_set = {**tag, "n": 2, "target": "output", "key": "precision", "value": 0.71}
    sample = {"time": NOW.isoformat(), "cpu_seconds": 0.5, "memory": 1000}
    report = {"phase": "running", "tags": [tag, on_set], "samples": [sample], "malformed_tags": 2}
    assert agent.say("report", **report) == {"kill": False, "stop": False}
    agent.say("report", **report)  # repeated: nothing counts twice
    session = upload(agent, ["/model/w.bin"], b"weights", tmp_path)
    answer = agent.end(upload=session, file_count=1, cpu_seconds=1.5, peak_memory=4096)
    assert answer == {"status": "finished", "output": "model:1", "stop": False}
    job = show(house, made["id"])
    assert job["status"] == "finished" and job["output"] == "model:1"
    assert (job["runtime"], job["cpu_seconds"], job["peak_memory"]) == (2.0, 1.5, 4096)
    assert job["cost"] > 0
    assert job["meta"] == {"kind": "mlp", "loss": 0.5} and job["tags"] == ["first"]
    assert job["notes"] == ["2 malformed tag lines"]
    assert [one["status"] for one in job["timeline"]] == [
        "queued",
        "launching",
        "downloading",
        "running",
        "uploading",
        "finished",
    ]
    series = house.call("GET", f"/api/v1/jobs/{made['id']}/series", token=house.token).json
    assert [(one["key"], [p["value"] for p in one["points"]]) for one in series["items"]] == [
        ("loss", [0.5])
    ]
    client = house.client()
    (found,) = client.find_sets("precision > 0.7 and job.loss = 0.5")
    assert found.id == "set:model:1"
    (by_argument,) = client.find_jobs("args.epochs = 3 and input.name = data")
    assert by_argument.id == made["id"]
    trace = client.trace("model", direction="back")
    assert [node.set.id for node in trace.nodes] == ["set:model:1", "set:data:1"]
    assert [edge.job for edge in trace.edges] == [made["id"]]
    assert [node.set.job for node in trace.nodes] == [made["id"], None]
    assert client.get_set("model").job == made["id"] and client.get_set("data").job is None


def test_an_ended_jobs_token_is_worth_nothing(house: Embedded) -> None:
    job = submit(house)
    agent = launch(house, job["id"])
    agent.say("begin")
    agent.end()
    again = house.call("POST", "/api/v1/agent/begin", token=agent.token, json_body={"attempt": 1})
    assert again.status == 401


def test_a_jobs_token_has_its_users_rights_in_the_lake_and_no_more(
    house: Embedded, tmp_path: Path
) -> None:
    job = submit(house)
    agent = launch(house, job["id"])
    lake_set(house, "data", {"/data/a": b"1"}, tmp_path)
    assert house.client(agent.token).get_set("data").version == 1
    for method, path, body in (
        ("POST", "/api/v1/users", {"name": "eve", "role": "member"}),
        ("POST", "/api/v1/tokens/rotate", {}),
        ("PUT", "/api/v1/quotas", {"jobs": 3}),
    ):
        answer = house.call(method, path, token=agent.token, json_body=body)
        assert answer.status == 403, (path, answer.body)
    own = house.call("POST", "/api/v1/agent/begin", token=house.token, json_body={"attempt": 1})
    assert own.status == 403


def test_an_attempt_that_no_longer_counts_is_told_to_stop(house: Embedded, tmp_path: Path) -> None:
    job = submit(house, output={"name": "model"}, retries=1)
    first = launch(house, job["id"])
    first.say("begin")
    session = upload(first, ["/model/w"], b"one", tmp_path)
    lost = first.end("killed", exit_code=None)  # nobody had asked for it: its machine goes down
    assert lost["status"] == "queued"
    second = launch(house, job["id"])
    assert second.attempt == 2
    stale = house.call(
        "POST",
        "/api/v1/agent/end",
        token=first.token,
        json_body={"attempt": 1, "outcome": "succeeded", "upload": session, "file_count": 1},
    )
    assert stale.status == 401
    second.say("begin")
    other = second.say("end", attempt=1, outcome="succeeded")
    assert other["stop"] is True
    assert second.end()["status"] == "finished"
    assert show(house, job["id"])["output"] is None


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"input": ["nothing"]}, "nothing"),
        ({"code": "/nowhere/"}, "/nowhere/"),
        ({"code": "nowhere:3"}, "nowhere"),
        ({"command": "x {epochs}"}, "epochs"),
        ({"command": "  "}, "empty"),
        ({"resources": {"cpu": 4096}}, "4096 CPU"),
        ({"resources": {"memory": 2**50}}, "memory"),
        ({"resources": {"gpu": 1}}, "GPU"),
        ({"output": {"name": "m", "path": "../up"}}, "outside"),
        ({"output": {"name": "m", "path": "/abs"}}, "outside"),
        ({"output": {"name": "m", "to": "relative/"}}, "relative"),
        ({"output": {"name": "no good"}}, "no good"),
        ({"environment": {"image": "repo/name"}}, "container runtime"),
        ({"env": {"ACAI_TOKEN": "x"}}, "ACAI_TOKEN"),
        ({"timeout": -1}, "timeout"),
        ({"meta": {"status": "done"}}, "status"),
        ({"tags": ["a,b"]}, "comma"),
        ({"retries": 99}, "retries"),
    ],
)
def test_what_cannot_run_is_refused_before_it_is_queued(
    small_house: Embedded, body: dict[str, Any], word: str
) -> None:
    _, message = refused(small_house, **{"command": "true", **body})
    assert word in message


def test_a_path_in_input_and_code_is_refused(small_house: Embedded, tmp_path: Path) -> None:
    lake_set(small_house, "data", {"/train.py": b"1", "/b": b"2"}, tmp_path)
    lake_set(small_house, "src", {"/code/x/train.py": b"3"}, tmp_path)
    code, message = refused(small_house, input=["data"], code="/code/x/@src")
    assert code == "path_conflict" and "train.py" in message
    assert submit(small_house, input=["data"], code="/code/@src")["code"] == "/code/@src:1"


def test_killing(house: Embedded) -> None:
    waiting = submit(house)
    killed = house.call("POST", f"/api/v1/jobs/{waiting['id']}/kill", token=house.token).json
    assert (killed["status"], killed["reason"]) == ("killed", "killed by dana")
    again = house.call("POST", f"/api/v1/jobs/{waiting['id']}/kill", token=house.token)
    assert again.status == 409 and "ended already" in again.json["error"]["message"]
    running = submit(house)
    agent = launch(house, running["id"])
    agent.say("begin")
    asked = house.call("POST", f"/api/v1/jobs/{running['id']}/kill", token=house.token).json
    assert asked["status"] == "downloading" and asked["kill_requested"] is True
    assert agent.say("report", phase="running")["kill"] is True
    agent.end("killed", exit_code=None)
    assert show(house, running["id"])["status"] == "killed"


def test_an_identical_job_is_answered_from_the_cache(house: Embedded, tmp_path: Path) -> None:
    lake_set(house, "data", {"/data/a": b"1"}, tmp_path)
    asked = {"input": ["data"], "output": {"name": "model"}, "cache": True, "args": {"n": 1}}
    first = submit(house, "train {n}", **asked)
    agent = launch(house, first["id"])
    agent.say("begin")
    agent.end(upload=upload(agent, ["/model/w"], b"w", tmp_path), file_count=1)
    lake_set(house, "data", {"/data/a": b"1"}, tmp_path)  # another version, the same content
    hit = submit(house, "train {n}", **asked)
    assert (hit["status"], hit["output"], hit["cached_from"]) == (
        "finished",
        "model:1",
        first["id"],
    )
    assert first["id"] in hit["notes"][0]
    assert submit(house, "train {n}", **{**asked, "args": {"n": 2}})["status"] == "queued"
    assert submit(house, "train {n}", **{**asked, "env": {"A": "b"}})["status"] == "queued"
    lake_set(house, "data", {"/data/a": b"other"}, tmp_path)
    assert submit(house, "train {n}", **asked)["status"] == "queued"
    house.client().remove_set("model")
    gone = submit(house, "train {n}", **{**asked, "input": ["data:1"]})
    assert gone["status"] == "queued", "a removed output is a miss"


def test_rerun_takes_the_same_versions_or_others(house: Embedded, tmp_path: Path) -> None:
    lake_set(house, "data", {"/data/a": b"1"}, tmp_path)
    first = submit(house, "train {n}", input=["data"], args={"n": 1}, name="t", tags=["x"])
    lake_set(house, "data", {"/data/a": b"2"}, tmp_path)
    url = f"/api/v1/jobs/{first['id']}/rerun"
    same = house.call("POST", url, token=house.token, json_body={}).json
    assert same["inputs"] == ["data:1"] and same["command"] == "train 1" and same["tags"] == ["x"]
    other = house.call(
        "POST", url, token=house.token, json_body={"input": ["data"], "args": {"n": 7}}
    ).json
    assert other["inputs"] == ["data:2"] and other["command"] == "train 7"


def test_why_a_job_waits(house: Embedded) -> None:
    house.call("PUT", "/api/v1/quotas", token=house.token, json_body={"user": "dana", "jobs": 1})
    first, second, third = (submit(house)["id"] for _ in range(3))
    launch(house, first)
    why = {one["id"]: one["waiting"] for one in listed(house)}
    assert why[first] is None
    assert why[second] == {"position": 1, "reason": "1 of 1 running", "expected": None}
    assert why[third]["position"] == 2
    house.call("PUT", "/api/v1/quotas", token=house.token, json_body={"user": "dana"})
    assert listed(house)[0]["waiting"]["reason"].startswith("behind one")


def test_another_project_sees_nothing_of_it(house: Embedded) -> None:
    job = submit(house)
    made = house.call(
        "POST",
        "/api/v1/projects",
        token=house.admin,
        json_body={"name": "other", "admin": "olga"},
    ).json
    stranger = made["admin"]["token"]
    for path in ("", "/logs", "/series", "/usage", "/wait?timeout=0"):
        answer = house.call("GET", f"/api/v1/jobs/{job['id']}{path}", token=stranger)
        assert (answer.status, answer.code) == (404, "job_not_found"), path
    assert house.call("POST", f"/api/v1/jobs/{job['id']}/kill", token=stranger).status == 404
    assert house.call("GET", "/api/v1/jobs", token=stranger).json["items"] == []


def test_jobs_are_listed_newest_first_in_pages(house: Embedded) -> None:
    ids = [submit(house)["id"] for _ in range(5)]
    seen, cursor = [], ""
    while True:
        page = house.call("GET", f"/api/v1/jobs?limit=2{cursor}", token=house.token).json
        seen += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == ids[::-1]
    assert listed(house, "?status=running") == []
