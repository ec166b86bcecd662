"""What changes in a project is told to who watches it: in few words, and to nobody else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import event

from acai.client.log_stream import events
from acai.engine.hints import news_topic
from acai.model.changes import ANYTHING
from acai.settings import load
from servers.embedded import SERVER
from servers.newsroom import Job, Newsroom, another, running
from servers.set_lake import _own_postgres as own_postgres


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def rooms(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Newsroom, Newsroom]]:
    """A server, and one that hears of it: on PostgreSQL another one of the same database."""
    home = str(tmp_path_factory.mktemp("home"))
    with ExitStack() as stack:
        if request.param == "sqlite":
            alone = stack.enter_context(running(load({"home": home, "port": "0"}, {})))
            yield alone, alone
            return
        url = stack.enter_context(own_postgres(request.getfixturevalue("postgres_server")))
        chosen = {"home": home, "port": "0", "database": url}
        here = stack.enter_context(running(load(chosen, {})))
        yield here, stack.enter_context(another(here, load(chosen, {})))


class Listener:
    """Gathers what a stream of events says to be read again, until it is told to go."""

    def __init__(self, room: Newsroom, token: str) -> None:
        self._hints = room.services.hints
        self._project = room.services.identity.authenticate(token, "here", None).project
        headers = {"authorization": f"Bearer {token}"}
        reply = room.house.transport.send("GET", f"{SERVER}/api/v1/events", headers=headers)
        self._chunks = reply.stream(1 << 16)
        assert next(self._chunks).startswith(b"retry:")  # from here on it watches
        self.heard: list[list[str]] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with closing(self._chunks) as chunks:
            for one in events(chunks):
                words = json.loads(one.data)["again"] if one.kind == "changed" else []
                if "go" in words:
                    return
                if words:
                    self.heard.append(words)

    def go(self) -> None:
        self._hints.note(news_topic(self._project), "go")
        self._thread.join(10)
        assert not self._thread.is_alive()

    def words(self) -> set[str]:
        return {word for words in self.heard for word in words}

    def hears(self, *wanted: str) -> set[str]:
        """What was heard by the time that all of these were."""
        until = time.monotonic() + 10
        while not set(wanted) <= self.words():
            assert time.monotonic() < until, f"heard {self.heard} of {wanted}"
            time.sleep(0.02)
        return self.words()


@contextmanager
def listening(room: Newsroom, token: str = "") -> Iterator[Listener]:
    listener = Listener(room, token or room.house.token)
    try:
        yield listener
    finally:
        listener.go()


def _await_ears(here: Newsroom, there: Newsroom) -> None:
    """A server begins to listen to the others when somebody first watches."""
    with listening(there) as listener:
        until = time.monotonic() + 10
        while not listener.words() and time.monotonic() < until:
            here.services.hints.note(news_topic(here.caller.project), "test")
            time.sleep(0.05)


def test_files_sets_and_metadata_are_told_within_their_project(
    rooms: tuple[Newsroom, Newsroom], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acai.api.streams._POLL", 0.05)
    here, there = rooms
    _await_ears(here, there)
    token = here.house.client(here.house.admin).create_project("elsewhere", "eve").admin.token
    lake = here.house.client()
    file = tmp_path / "a.txt"
    file.write_text("a")
    with listening(there) as listener, listening(there, token) as foreign:
        for change, word in (
            (lambda: lake.upload({str(file): "/data/a.txt"}), "files"),
            (lambda: lake.create_file_set("data", ["/data/"]), "sets"),
            (lambda: lake.set_metadata("set:data", {"model": "BERT"}), "metadata/set"),
            (lambda: lake.set_metadata("file:/data/a.txt", tags=["x"]), "metadata/file"),
            (lambda: lake.remove_metadata("set:data", ["model"]), "metadata/set"),
            (lambda: lake.remove_set("data"), "sets"),
            (lambda: lake.remove_file("/data/a.txt"), "files"),
        ):
            listener.heard.clear()
            change()
            assert listener.hears(word) == {word}
        assert foreign.heard == []


def test_what_a_job_uses_and_prints_is_told(rooms: tuple[Newsroom, Newsroom]) -> None:
    here, there = rooms
    _await_ears(here, there)
    job = here.job()
    with listening(there) as listener:
        _report(job, samples=3)
        assert listener.hears(f"jobs/{job.name}/usage") == {f"jobs/{job.name}/usage"}
        _report(job, tags=2)
        listener.hears(f"jobs/{job.name}/series")
        before = len(listener.heard)
        _report(job)
        time.sleep(0.7)
        assert len(listener.heard) == before
    whole = here.get(f"/jobs/{job.name}/usage").json["items"]
    assert [one["cpu"] for one in whole] == [0.0, 0.5, 0.5]
    after = quote(whole[0]["time"])
    assert here.get(f"/jobs/{job.name}/usage?after={after}").json["items"] == whole[1:]
    assert here.get(f"/jobs/{job.name}/usage?after=yesterday").code == "invalid_input"


def _report(job: Job, samples: int = 0, tags: int = 0) -> None:
    began = datetime.now(UTC)
    now = began.isoformat()
    body = {
        "attempt": 1,
        "phase": "running",
        "samples": [
            {
                "time": (began + timedelta(seconds=n)).isoformat(),
                "cpu_seconds": n / 2,
                "memory": 1000,
            }
            for n in range(samples)
        ],
        "tags": [
            {"n": n + 1, "target": "job", "key": "loss", "value": 0.5, "time": now}
            for n in range(tags)
        ],
    }
    answer = job.room.house.call("POST", "/api/v1/agent/report", token=job.token(1), json_body=body)
    assert answer.status == 200


def test_a_flood_of_changes_is_few_words_and_no_query(rooms: tuple[Newsroom, Newsroom]) -> None:
    here, there = rooms
    _await_ears(here, there)
    asked: list[str] = []

    def count(_c: Any, _cursor: Any, text: str, *_more: Any) -> None:
        if "job_transitions" in text:
            asked.append(text)

    with listening(there) as listener:
        event.listen(there.database.engine, "before_cursor_execute", count)
        try:
            until = time.monotonic() + 1.2
            while time.monotonic() < until:
                for word in ("files", "sets", "metadata/set"):
                    here.services.hints.note(news_topic(here.caller.project), word)
                time.sleep(0.005)
            listener.hears("files", "sets", "metadata/set")
        finally:
            event.remove(there.database.engine, "before_cursor_execute", count)
        assert len(listener.heard) <= 5
    assert len(asked) <= 6  # as often as without any word


@pytest.mark.parametrize("rooms", ["postgresql"], indirect=True)
def test_after_a_break_between_servers_anything_may_have_changed(
    rooms: tuple[Newsroom, Newsroom], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = rooms
    monkeypatch.setattr("acai.engine.hints._PATIENCE", 0.1)
    _await_ears(here, there)
    with listening(there) as listener:
        with here.database.engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%%' AND pid <> pg_backend_pid()"
            )
        listener.hears(ANYTHING)
