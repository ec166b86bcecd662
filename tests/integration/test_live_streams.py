"""Logs and events over HTTP: complete, in order, within a second, for any number of watchers."""

from __future__ import annotations

import base64
import json
import queue
import random
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from acai.api import streams
from acai.client.log_stream import Event, LogStream
from acai.engine import logs as logs_module
from acai.engine.logs import MOST
from acai.settings import load
from acai.stores.records.database import PLATFORM
from acai.stores.records.tables_jobs import jobs
from servers.embedded import SERVER, Answer
from servers.newsroom import Job, Newsroom, running
from servers.set_lake import _own_postgres as own_postgres


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def room(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Newsroom]:
    """One on each database for the whole module; its tests have a job each."""
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        url = ""
        if request.param == "postgresql":
            url = stack.enter_context(own_postgres(request.getfixturevalue("postgres_server")))
        chosen = {"home": str(home), "port": "0"} | ({"database": url} if url else {})
        yield stack.enter_context(running(load(chosen, {})))


def log_of(event: Event) -> bytes:
    assert event.kind == "log"
    return base64.b64decode(json.loads(event.data)["data"])


def test_a_log_is_read_from_anywhere(room: Newsroom) -> None:
    job = room.job()
    text = b"".join(b"line %d\n" % n for n in range(50_000)) + b"\xff\0 half"
    job.prints(text)
    path = f"/jobs/{job.name}/logs"
    whole = room.get(path)
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-acai-attempt"] == "1"
    assert whole.body == text
    assert room.get(f"{path}?start=300000").body == text[300_000:]
    assert room.get(f"{path}?start={len(text) + 5}").body == b""
    assert room.get(f"{path}?tail=3").body == b"line 49998\nline 49999\n\xff\0 half"
    assert room.get(f"{path}?tail=0&attempt=1").body == b""
    for query in ("start=1&tail=1", "start=-1", "tail=x", "attempt=2", "attempt=0", "follow=maybe"):
        assert room.get(f"{path}?{query}").code == "invalid_input", query
    assert room.get("/jobs/job-2222222222/logs").code == "job_not_found"
    assert room.get("/jobs/job-2222222222/logs?follow=1").code == "job_not_found"
    assert room.get(f"/jobs/{room.job('queued', 0).name}/logs?tail=5").body == b""


def test_many_watchers_see_everything_within_a_second(room: Newsroom) -> None:
    job = room.job()
    job.prints(b"before\n")
    watchers, lines = 8, 20
    started = threading.Barrier(watchers + 1)

    def watch(_: int) -> tuple[bytes, list[float], str]:
        seen, lags = b"", []
        with room.stream(f"/jobs/{job.name}/logs?follow=1") as stream:
            for event in stream:
                if event.kind == "end":
                    return seen, lags, event.data
                now = time.time()
                fresh = log_of(event)
                assert json.loads(event.data)["start"] == len(seen)
                if not seen:
                    started.wait(20)
                seen += fresh
                assert event.id == f"1:{len(seen)}"
                lags += [now - float(line) for line in fresh.split() if line != b"before"]
        raise AssertionError("it broke off")

    with ThreadPoolExecutor(watchers) as pool:
        found = pool.map(watch, range(watchers))
        started.wait(20)
        for _ in range(lines):
            job.prints(b"%r\n" % time.time())
            time.sleep(0.05)
        job.enters("failed")
        results = list(found)
    assert len({seen for seen, _, _ in results}) == 1
    for seen, lags, end in results:
        assert seen.count(b"\n") == lines + 1
        assert max(lags) < 1
        assert json.loads(end) == {"status": "failed"}
    print(f"lag at most {max(max(lags) for _, lags, _ in results) * 1000:.0f} ms")


def test_without_any_hint_it_is_late_by_a_moment_only(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room.services.hints, "publish", lambda *topics: None)
    job = room.job()
    with room.stream(f"/jobs/{job.name}/logs?follow=1") as stream:
        for n in range(2):
            time.sleep(0.1)
            job.prints(b"%d\n" % n)
            begun = time.monotonic()
            assert log_of(next(stream)) == b"%d\n" % n
            assert time.monotonic() - begun < 1
        job.enters("finished")
        assert next(stream).kind == "end"


def test_a_watcher_comes_back_and_goes_on_where_it_was(room: Newsroom) -> None:
    job = room.job()
    path = f"/jobs/{job.name}/logs?follow=1"
    job.prints(b"one\n")
    with room.stream(path) as stream:
        first = next(stream)
        assert log_of(first) == b"one\n"
    job.prints(b"two\n")
    with room.stream(path, after=first.id) as stream:
        assert log_of(next(stream)) == b"two\n"
    with room.stream(path, after="4") as stream:
        assert log_of(next(stream)) == b"two\n"
    job.attempt = 2
    with room.database.write(PLATFORM) as tx:
        tx.execute(update(jobs).where(jobs.c.id == job.id).values(attempt=2))
    job.prints(b"again\n")
    job.enters("killed")
    with room.stream(path, after=first.id) as stream:
        kinds = [(event.kind, event.id) for event in stream]
    assert kinds == [("log", "1:8"), ("attempt", "2:0"), ("log", "2:6"), ("end", "2:6")]
    with room.stream(f"{path}&attempt=1") as stream:
        assert [event.kind for event in stream] == ["log", "end"]
    with room.stream(f"{path}&tail=1") as stream:
        assert [log_of(next(stream))] == [b"again\n"]
    for nonsense in ("x", "3:0", "1:-1", "1:2:3"):
        headers = {"authorization": f"Bearer {room.house.token}", "last-event-id": nonsense}
        answer = room.house.call("GET", f"/api/v1{path}", headers=headers)
        assert answer.code == "invalid_input", nonsense


def test_a_slow_watcher_holds_nothing_up(room: Newsroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_module, "_ROLL", 1 << 20)
    job = room.job()
    data = random.Random(1).randbytes(6 << 20)
    with room.stream(f"/jobs/{job.name}/logs?follow=1") as slow:
        job.prints(data[:1000])
        seen = log_of(next(slow))
        begun = time.monotonic()
        job.prints(data[1000:])  # while nobody reads; it rolls meanwhile
        assert time.monotonic() - begun < 10
        job.enters("finished")
        room.services.logs.archive(job.project, job.id)
        for event in slow:
            if event.kind == "log":
                seen += log_of(event)
        assert seen == data


def test_the_clients_stream_survives_a_server_that_ends_it(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_LONGEST", 0.3)
    job = room.job()
    job.prints(b"0\n")
    printed: queue.Queue[bytes] = queue.Queue()
    stream = LogStream(room.house.client()._session, job.name)
    reader = threading.Thread(target=lambda: [printed.put(piece) for piece in stream])
    reader.start()
    for n in range(1, 8):
        time.sleep(0.15)
        job.prints(b"%d\n" % n)
    job.enters("finished")
    reader.join(20)
    assert b"".join(printed.queue) == b"0\n1\n2\n3\n4\n5\n6\n7\n"
    assert stream.status == "finished"


def test_a_damaged_log_is_told_in_the_stream(room: Newsroom) -> None:
    job = room.job()
    job.prints(b"x" * 100_000)
    job.enters("finished")
    room.services.logs.archive(job.project, job.id)
    (stored,) = room.services.objects.list(f"{job.project}/logs/{job.name}/")
    room.services.objects.delete([stored.key])
    with room.stream(f"/jobs/{job.name}/logs?follow=1") as stream:
        problem = next(stream)
    assert problem.kind == "problem"
    assert json.loads(problem.data)["code"] == "corrupt_data"
    assert room.get(f"/jobs/{job.name}/logs").code == "corrupt_data"


def test_closing_the_hints_ends_every_stream(tmp_path: Path) -> None:
    with running(load({"home": str(tmp_path), "port": "0"}, {})) as room:
        job = room.job()
        _ends_when_hints_close(room, job)


def _ends_when_hints_close(room: Newsroom, job: Job) -> None:
    with (
        room.stream(f"/jobs/{job.name}/logs?follow=1") as log,
        room.stream("/events") as changes,
    ):
        threading.Timer(0.3, room.services.hints.close).start()
        begun = time.monotonic()
        assert list(log) == list(changes) == []
        assert time.monotonic() - begun < 5


def test_silence_is_filled_with_comments(room: Newsroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_KEEP_ALIVE", 0.1)
    headers = {"authorization": f"Bearer {room.house.token}"}
    reply = room.house.transport.send("GET", f"{SERVER}/api/v1/events", headers=headers)
    with closing(reply.stream(1 << 16)) as chunks:
        assert next(chunks).startswith(b"retry:")
        assert next(chunks) == next(chunks) == b": still here\n\n"


def test_an_agent_appends(room: Newsroom) -> None:
    job = room.job()
    token = job.token(1)

    def post(body: bytes, query: str, token: str = token, **headers: str) -> Answer:
        path = f"/api/v1/agent/log?{query}"
        return room.house.call("POST", path, token=token, body=body, headers=headers)

    assert post(b"one\n", "attempt=1&start=0").json == {"size": 4, "stop": False}
    packed = zlib.compress(b"e\ntwo\n")
    assert post(packed, "attempt=1&start=2", **{"x-acai-encoding": "zlib"}).json["size"] == 8
    assert post(b"", "attempt=1&start=0").json["size"] == 8
    assert post(b"gap", "attempt=1&start=9").json["size"] == 8
    junk = random.Random(2).randbytes(MOST)
    packed = zlib.compress(junk)
    assert len(packed) > MOST
    answer = post(packed, "attempt=1&start=8", **{"x-acai-encoding": "zlib"})
    assert answer.json["size"] == 8 + MOST
    bombs = (zlib.compress(b"\0" * (MOST + 1)), zlib.compress(b"\0" * (50 << 20)))
    for body in (b"x" * (MOST + 1), b"x" * (3 << 20)):
        assert post(body, "attempt=1&start=0").code == "too_large"
    for body in bombs:
        answer = post(body, "attempt=1&start=0", **{"x-acai-encoding": "zlib"})
        assert answer.code == "too_large"
    for body in (b"not packed", zlib.compress(junk)[:-10], b""):
        answer = post(body, "attempt=1&start=0", **{"x-acai-encoding": "zlib"})
        assert answer.code == "invalid_input"
    assert post(b"x", "attempt=1&start=0", **{"x-acai-encoding": "br"}).code == "invalid_input"
    assert post(b"x", "attempt=1&start=-1").code == "invalid_input"
    assert post(b"x", "attempt=2&start=0").code == "forbidden"
    assert post(b"x", "attempt=1&start=0", room.house.token).code == "forbidden"
    job.enters("killed")
    assert post(b"late", f"attempt=1&start={8 + MOST}").json["stop"] is True
    assert room.get(f"/jobs/{job.name}/logs").body == b"one\ntwo\n" + junk


def statuses(stream: Iterator[Event], count: int, *jobs: Job) -> list[tuple[str, str]]:
    """The next changes of these jobs."""
    found: list[tuple[str, str]] = []
    names = [job.name for job in jobs]
    while len(found) < count:
        event = next(stream)
        assert event.kind == "job"
        data = json.loads(event.data)
        if data["id"] in names:
            found.append((data["id"], data["status"]))
    return found


def test_events_tell_every_change_once(room: Newsroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acai.engine.changes._PAGE", 3)
    admin = room.house.client(room.house.admin)
    token = admin.create_project("elsewhere", "eve").admin.token
    eve = room.services.identity.authenticate(token, "here", None)
    theirs = Job(room, eve.project, eve.user_id, "queued", 0)
    one, two = room.job("queued", 0), room.job("queued", 0)
    before = datetime.now(UTC) - timedelta(seconds=1)
    one.enters("queued")
    with room.stream("/events") as here, room.stream("/events", token) as elsewhere:
        one.enters("launching")
        assert statuses(here, 1, one, two) == [(one.name, "launching")]
        # Of another server, whose clock is behind, and whose hint was lost.
        two.enters("queued", hint=False, at=before)
        begun = time.monotonic()
        assert statuses(here, 1, one, two) == [(two.name, "queued")]
        assert time.monotonic() - begun < 2
        for status in ("downloading", "running", "uploading", "finished"):
            one.enters(status, hint=False)
            two.enters(status, hint=False)
        assert sorted(statuses(here, 8, one, two)) == sorted(
            (job.name, status)
            for job in (one, two)
            for status in ("downloading", "running", "uploading", "finished")
        )
        theirs.enters("failed")
        one.enters("lost")
        assert json.loads(next(elsewhere).data)["id"] == theirs.name
        assert json.loads(next(here).data)["status"] == "lost"


def test_events_go_on_after_a_break(room: Newsroom) -> None:
    job = room.job("queued", 0)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    with room.stream("/events") as stream:
        job.enters("launching")
        seen = next(stream)
    job.enters("downloading")
    job.enters("running", at=datetime.now(UTC) + timedelta(seconds=30))
    job.enters("lost", at=long_ago)
    with room.stream("/events", after=seen.id) as stream:
        found = statuses(stream, 3, job)
    assert found == [(job.name, status) for status in ("launching", "downloading", "running")]
    bad = {"authorization": f"Bearer {room.house.token}", "last-event-id": "9" * 18}
    assert room.house.call("GET", "/api/v1/events", headers=bad).code == "invalid_input"
