"""The agent with a real lake behind the desk: inputs and code in, outputs out."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from acai.agent.cache import BlobCache
from acai.agent.main import DELIVERED, run
from acai.client.client import Client
from acai.model.assignments import CodePlace, Outcome
from acai.model.errors import NotFound
from acai.model.jobs import OutputSpec
from servers.agent_desk import JOB, Desk, assignment, desk_for
from servers.embedded import Embedded

MODEL = OutputSpec(name="model", path="out/", to="/model/")


@pytest.fixture
def lake(small_house: Embedded, tmp_path: Path) -> Client:
    """A lake with an input set of three files and a code set of one."""
    source = tmp_path / "source"
    (source / "data" / "deep").mkdir(parents=True)
    (source / "data" / "a.txt").write_text("alpha\n")
    (source / "data" / "deep" / "b.txt").write_text("beta\n")
    (source / "data" / "empty").touch()
    (source / "src").mkdir()
    (source / "src" / "main.sh").write_text("cat data/a.txt data/deep/b.txt > out/joined\n")
    client = small_house.client()
    client.upload(source / "data", "/data/")
    client.upload(source / "src", "/code/src/")
    client.create_file_set("input", ["/data/"])
    client.create_file_set("code", ["/code/"])
    return client


CODE = CodePlace(spec="/code/src/@code:1", strip="/code/src/")


def agents(desks: Sequence[Desk], tmp_path: Path) -> None:
    """Run one for each desk at once, on one cache."""
    codes: list[int] = []

    def one(number: int, desk: Desk) -> None:
        codes.append(
            run(
                desk.settings(
                    tmp_path / str(number), cache_dir=tmp_path / "cache", job=f"{JOB}-{number}"
                )
            )
        )

    threads = [threading.Thread(target=one, args=each) for each in enumerate(desks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert codes == [DELIVERED] * len(desks)


def test_inputs_and_code_go_in_and_the_output_comes_out_unpublished(
    small_house: Embedded, lake: Client, tmp_path: Path
) -> None:
    given = assignment("sh main.sh && ls -l data", inputs=("input:1",), code=CODE, output=MODEL)
    with desk_for(given, small_house) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.SUCCEEDED, desk.ending.reason
        assert desk.ending.upload is not None and desk.ending.file_count == 1
        listed = desk.log.decode().splitlines()[1:]
    assert [line.split()[-1] for line in listed] == ["a.txt", "deep", "empty"]
    assert listed[0].startswith("-r--r--r--") and listed[2].startswith("-r--r--r--")
    with pytest.raises(NotFound):
        lake.read_bytes("/model/joined")
    token = small_house.token
    path = f"/api/v1/uploads/{desk.ending.upload}/commit"
    assert small_house.call("POST", path, token=token, json_body={"file_count": 1}).status == 200
    assert lake.read_bytes("/model/joined") == b"alpha\nbeta\n"
    assert not (tmp_path / "run" / "work").exists()


def test_the_next_job_takes_everything_from_the_cache(
    small_house: Embedded, lake: Client, tmp_path: Path
) -> None:
    command = "stat -c '%i %h' data/a.txt; cat data/a.txt"
    said = []
    for number in ("first", "second"):
        given = assignment(command, inputs=("@input:1",), code=CODE)
        with desk_for(given, small_house) as desk:
            settings = desk.settings(tmp_path / number, cache_dir=tmp_path / "cache")
            assert run(settings) == DELIVERED
            said.append(bytes(desk.log))
            located = [path for path in desk.forwarded if path.endswith("/blobs/locate")]
            assert bool(located) == (number == "first")
    assert said[0] == said[1] and said[0].split()[1:] == [b"2", b"alpha"]


def test_an_input_that_a_program_changed_is_whole_for_the_next(
    small_house: Embedded, lake: Client, tmp_path: Path
) -> None:
    outputs = []
    for command in ("chmod u+w data/a.txt; echo spoilt > data/a.txt", "cat data/a.txt"):
        with desk_for(assignment(command, inputs=("input:1",)), small_house) as desk:
            settings = desk.settings(tmp_path / str(len(outputs)), cache_dir=tmp_path / "cache")
            assert run(settings) == DELIVERED
            outputs.append(bytes(desk.log))
    assert outputs == [b"", b"alpha\n"]
    assert lake.read_bytes("/data/a.txt") == b"alpha\n"


def test_agents_that_start_together_fetch_once(
    small_house: Embedded, lake: Client, tmp_path: Path
) -> None:
    desks = [
        Desk(assignment("cat data/deep/b.txt", inputs=("input:1",)), small_house) for _ in "123"
    ]
    try:
        agents(desks, tmp_path)
    finally:
        for desk in desks:
            desk.close()
    assert [bytes(desk.log) for desk in desks] == [b"beta\n"] * 3
    located = [path for desk in desks for path in desk.forwarded if path.endswith("/locate")]
    assert len(located) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": CodePlace(spec="/data/@input:1", strip="/data/")}, None),
        ({"code": CodePlace(spec="/@other:1", strip="/")}, "data/a.txt"),
        ({"output": OutputSpec(name="x", path="data", to="/x/")}, "output directory"),
        ({"output": OutputSpec(name="x", path="../x", to="/x/")}, "below the working directory"),
        ({"inputs": ("no-such-set:1",)}, "no-such-set"),
    ],
)
def test_what_does_not_fit_together_fails_before_it_runs(
    small_house: Embedded,
    lake: Client,
    tmp_path: Path,
    change: dict[str, object],
    said: str | None,
) -> None:
    lake.copy_file("/data/deep/b.txt", "/data/a.txt")
    lake.create_file_set("other", ["/data/a.txt"])
    with desk_for(assignment("echo ran", inputs=("input:1",)), small_house) as desk:
        desk.assignment = assignment("echo ran", **{"inputs": ("input:1",), **change})
        assert run(desk.settings(tmp_path)) == DELIVERED
        if said is None:
            assert desk.ending.outcome is Outcome.SUCCEEDED, desk.ending.reason
            return
        assert desk.ending.outcome is Outcome.FAILED
        assert desk.ending.reason is not None and said in desk.ending.reason
        assert desk.ending.started is None and not desk.log


def test_an_empty_output_is_noted(small_house: Embedded, tmp_path: Path) -> None:
    with desk_for(assignment("mkdir out/empty", output=MODEL), small_house) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.SUCCEEDED and desk.ending.upload is None
        assert desk.ending.notes == ("the output was empty",)


def test_links_out_of_the_working_directory_are_left_out_and_noted(
    small_house: Embedded, tmp_path: Path
) -> None:
    command = "echo 1 > kept; ln -s ../kept out/kept; ln -s /etc/hostname out/stolen"
    with desk_for(assignment(command, output=MODEL), small_house) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.file_count == 1
        assert any("stolen" in note and "leads out" in note for note in desk.ending.notes)


def test_an_output_that_cannot_be_kept_fails_the_job(small_house: Embedded, tmp_path: Path) -> None:
    command = "printf x > \"out/$(printf 'bad\\377name')\""
    with desk_for(assignment(command, output=MODEL), small_house) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.FAILED and desk.ending.exit_code == 0
        assert desk.ending.reason is not None and "UTF-8" in desk.ending.reason
    left = os.listdir(os.fsencode(tmp_path / "run" / "work" / "out"))
    assert left == [b"bad\xffname"]  # it is nowhere else


def test_a_server_that_goes_away_before_the_upload_gets_it_later(
    small_house: Embedded, tmp_path: Path
) -> None:
    flag = tmp_path / "go"
    command = f"echo ready; while [ ! -e {flag} ]; do sleep 0.02; done; echo kept > out/file"
    with desk_for(assignment(command, output=MODEL), small_house) as desk:
        codes: list[int] = []
        agent = threading.Thread(target=lambda: codes.append(run(desk.settings(tmp_path))))
        agent.start()
        while not desk.log:
            time.sleep(0.01)
        desk.away.set()
        flag.touch()
        time.sleep(1.2)
        assert (tmp_path / "run" / "work" / "out" / "file").exists()
        desk.away.clear()
        agent.join(20)
        assert codes == [DELIVERED]
        assert desk.ending.outcome is Outcome.SUCCEEDED and desk.ending.file_count == 1


def test_it_can_be_killed_while_it_waits_for_its_input(
    small_house: Embedded, lake: Client, tmp_path: Path
) -> None:
    given = assignment("echo ran", inputs=("input:1",), heartbeat=0.1)
    cache = BlobCache(tmp_path / "cache", 10**9)
    with (
        desk_for(given, small_house) as desk,
        cache.alone("@input:1", threading.Event()),  # another agent that fetches the same
    ):
        desk.kill = True
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.KILLED and not desk.log
        assert desk.ending.started is None
