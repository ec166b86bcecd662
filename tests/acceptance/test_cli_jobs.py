"""`acai run`, `acai job` and `acai.Client().run` as people use them, on a real platform."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acai as sdk
from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.shell import Shell

JOB_ID = re.compile(r"job-[0-9a-z]{10}")
TRAIN = """\
import pathlib, sys
epochs = int(sys.argv[1])
data = pathlib.Path("data/numbers.csv").read_text().split()
for epoch in range(1, epochs + 1):
    print(f"[ACAI_TAG_NUM] JOB loss:{1 / epoch}", flush=True)
print(f"[ACAI_TAG_NUM] FILESET total:{sum(map(int, data))}")
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path("out/model.txt").write_text(f"{epochs} {len(data)}")
"""
JOB_FILE = """\
name: train
input: numbers
code: ./src
command: python train.py {epochs}
args: {epochs: 3}
output: {name: model}
resources: {cpu: 0.5, memory: 256MB}
tags: [baseline]
meta: {kind: demo}
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("jobs") / "home") as server:
        local = tmp_path_factory.mktemp("data")
        (local / "numbers.csv").write_text("1\n2\n3\n")
        acai = Shell(home=server.home)
        assert acai("file", "put", str(local), "/data/").code == 0
        assert acai("set", "create", "numbers", "/data/").code == 0
        yield server


@pytest.fixture
def acai(running: RunningServer) -> Shell:
    return Shell(home=running.home)


@pytest.fixture
def lake(running: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[sdk.Client]:
    monkeypatch.setenv("ACAI_HOME", str(running.home))
    with sdk.Client() as lake:
        yield lake


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a job file and its code."""
    work = tmp_path / "work"
    (work / "src" / "__pycache__").mkdir(parents=True)
    (work / "src" / "train.py").write_text(TRAIN)
    (work / "src" / "__pycache__" / "train.pyc").write_bytes(b"\0")
    (work / "job.yaml").write_text(JOB_FILE)
    monkeypatch.chdir(work)
    return work


def started(acai: Shell, *words: str) -> str:
    done = acai("run", *words)
    assert done.code == 0, done
    assert JOB_ID.fullmatch(done.out.strip()), done
    return done.out.strip()


def popen(acai: Shell, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ACAI), *words],
        env=clean_environment(acai.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_job_file_from_data_to_model(acai: Shell, lake: sdk.Client, work: Path) -> None:
    done = acai("run", "-f", "job.yaml", "--follow", "--arg", "epochs=4")
    assert done.code == 0, done
    assert done.out.splitlines() == [
        *(f"[ACAI_TAG_NUM] JOB loss:{1 / n}" for n in range(1, 5)),
        "[ACAI_TAG_NUM] FILESET total:6",
    ]
    assert re.search(r"^job-\w+ finished in .*, output model:1$", done.err, re.M)
    detail = acai("job", "show", "last", "--json").json
    assert (detail["name"], detail["status"], detail["exit_code"]) == ("train", "finished", 0)
    assert (detail["inputs"], detail["output"]) == (["numbers:1"], "model:1")
    assert detail["code"] == "/code/train/@train-code:1"
    assert (detail["tags"], detail["meta"]) == (["baseline"], {"kind": "demo", "loss": 0.25})
    assert detail["request"]["args"] == {"epochs": 4}
    assert [step["status"] for step in detail["timeline"]] == [
        "queued",
        "launching",
        "downloading",
        "running",
        "uploading",
        "finished",
    ]
    assert lake.read_bytes("/model/model.txt@model:1") == b"4 3"
    assert [one.id for one in lake.find_sets("total = 6")] == ["set:model:1"]
    assert [one.id for one in lake.find_jobs("args.epochs = 4")] == [detail["id"]]
    assert "set:numbers:1" in {edge.source for edge in lake.trace("model").edges}

    shown = acai("job", "show", detail["id"][4:9]).out
    for pattern in (
        r"^command +python train.py 4$",
        r"^input +numbers:1$",
        r"^cpu +0.5 asked, ",
        r"^memory +256 MB asked, .* at most$",
        r"\+[\d.]+ \w+  running",
        r"^run +[▏▎▍▌▋▊▉█]",
    ):
        assert re.search(pattern, shown, re.M), (pattern, shown)
    drawn = acai("job", "plot", "last").out
    assert drawn.startswith("loss: 0.25 at the end\n") and "└──" in drawn


def test_code_is_sent_once(lake: sdk.Client, work: Path) -> None:
    def code_of(code: str) -> str | None:
        return lake.run("true", name="once", code=code).code

    (work / "src" / "lib.py").write_text("1")
    assert code_of("src") == "/code/once/@once-code:1"
    assert code_of("./src/") == "/code/once/@once-code:1"
    (work / "src" / "lib.py").write_text("2")
    assert code_of("src") == "/code/once/@once-code:2"
    (work / "src" / "lib.py").unlink()
    assert code_of("src") == "/code/once/@once-code:3"
    files = [(one.path, one.version) for one in lake.set_files("once-code:3")]
    assert files == [("/code/once/train.py", 1)]
    assert code_of("once-code:1") == "/@once-code:1"
    single = lake.run("ls; cat train.py", name="once", code="src/train.py", wait=True)
    assert single.code == "/code/once/@once-code:3"
    assert single.logs() == f"train.py\n{TRAIN}"


def test_exit_codes_are_the_programs_own(acai: Shell) -> None:
    done = acai("run", "--wait", "echo some words; exit 7")
    assert done.code == 7
    assert "  some words\n" in done.err and "failed in" in done.err
    failed = acai("job", "ls", "--limit", "1", "--json").json[0]
    assert acai("job", "wait", failed["id"]).code == 7
    assert acai("run", "--follow", "--", "sh", "-c", "echo $0; exit 5", "a b").out == "a b\n"
    assert acai("job", "wait", "last").code == 5
    assert "--wait stands after the command" in acai("run", "true", "--wait").err
    assert "finished in" in acai("run", "echo one word", "--wait").out


def test_a_job_is_killed_and_stays_so(acai: Shell) -> None:
    job = started(acai, "sleep 100 & sleep 100; wait")
    assert acai("job", "kill", job).out.startswith(f"{job} is ")
    assert acai("job", "wait", job, "--json").code != 0
    ended = acai("job", "show", job, "--json").json
    assert (ended["status"], ended["kill_requested"]) == ("killed", True)
    again = acai("job", "kill", job)
    assert again.complaint() == f"{job} has ended already: it is killed"
    assert "there is no job job-2222222222" in acai("job", "kill", "job-2222222222").complaint()
    both = acai("job", "kill", job, "job-2222222222", "--json")
    assert both.code == 1 and both.json == []


def test_jobs_that_wait_say_why(acai: Shell) -> None:
    before = acai("run", "--json", "--name", "hold", "--cpu", "1", "sleep 30").json["id"]
    jobs = [started(acai, "--name", f"q{n}", "--cpu", "2", "true") for n in range(2)]
    lines = acai("job", "ls", "--limit", "3").out.splitlines()
    assert lines[0].split()[:5] == ["JOB", "NAME", "STATUS", "AGE", "TIME"]
    assert [line.split()[0] for line in lines[1:]] == [*reversed(jobs), before]
    assert re.search(r"q0 +queued, number 1: needs 2 CPU, ", lines[2]), lines
    assert re.search(r"q1 +queued, number 2: ", lines[1]), lines
    queued = acai("job", "ls", "--status", "queued", "--json").json
    assert [one["waiting"]["position"] for one in queued] == [2, 1]
    active = acai("job", "ls", "--status", "active", "--all-users", "--json").json
    assert {one["id"] for one in active} >= {before, *jobs}
    assert acai("job", "kill", *jobs, before).code == 0
    assert acai("job", "wait", *jobs, before).code != 0


def test_running_a_job_again(acai: Shell) -> None:
    first = started(acai, "--arg", "word=a b", "--cpu", "0.5", "--tag", "t", "echo {word} {word}")
    again = acai("job", "rerun", first, "--follow")
    assert (again.code, again.out) == (0, "a b a b\n")
    again = acai("job", "rerun", first, "--arg", "word=c", "--memory", "64MB", "--wait", "--json")
    job = again.json
    assert (job["command"], job["cpu"], job["memory"]) == ("echo c c", 0.5, 64_000_000)
    assert job["tags"] == ["t"] and acai("job", "logs", job["id"]).out == "c c\n"


def test_an_identical_job_is_answered_at_once(acai: Shell) -> None:
    words = ("--output", "cached=res", "--cache", "mkdir -p res; date +%N > res/x")
    first = acai("run", "--wait", "--json", *words).json
    second = acai("run", *words)
    assert second.err == f"Answered by {first['id']}; the output is {first['output']}.\n"
    shown = acai("job", "wait", second.out.strip())
    assert f"answered by {first['id']}, output cached:1" in shown.out
    assert acai("set", "rm", "cached:1", "-y").code == 0
    assert acai("run", "--wait", "--json", *words).json["output"] == "cached:2"


def test_logs_of_any_bytes(acai: Shell) -> None:
    job = started(acai, r"printf 'one\ntwo\n\377half'; echo err >&2; seq 20000")
    environment = clean_environment(acai.home)
    followed = subprocess.run(
        [ACAI, "job", "logs", "-f", job], env=environment, capture_output=True, check=True
    ).stdout
    read = subprocess.run(
        [ACAI, "job", "logs", job], env=environment, capture_output=True, check=True
    ).stdout
    assert followed == read
    assert read.startswith(b"one\ntwo\n\xffhalferr\n1\n") and read.endswith(b"\n20000\n")
    assert acai("job", "logs", job, "--tail", "2").out == "19999\n20000\n"
    assert acai("job", "logs", "-f", job, "--tail", "1").out == "20000\n"
    assert acai("job", "logs", job, "--json").json["log"].startswith("one\ntwo\n\ufffdhalf")


def test_leaving_a_job_does_not_end_it(acai: Shell) -> None:
    watching = popen(acai, "run", "--follow", "echo begun; sleep 2; echo done")
    assert watching.stdout is not None and watching.stdout.readline() == "begun\n"
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=20)
    assert watching.returncode == 130
    assert "Detached; job-" in said and "acai job kill" in said and "Traceback" not in said
    assert acai("job", "wait", "last").code == 0
    assert acai("job", "logs", "last").out == "begun\ndone\n"
    waiting = popen(acai, "run", "--wait", "sleep 1")
    assert waiting.stderr is not None and " is " in waiting.stderr.readline()
    time.sleep(0.3)
    waiting.send_signal(signal.SIGINT)
    assert "goes on" in waiting.communicate(timeout=20)[1] and waiting.returncode == 130


REFUSED: dict[str, dict[str, Any]] = {
    "there is no set nothing": {"input": "nothing", "code": "src"},
    "numbers has no version 9": {"input": "numbers:9"},
    "no file or directory './none' here": {"code": "./none"},
    "'none' here, and no set of that name": {"code": "none"},
    "outside the working directory": {"output": "m=../x"},
    "needs a value for 'n': give --arg n=": {"command": "echo {n}", "code": "src"},
    "CPU, but there are": {"cpu": 5000},
    "of memory, but there are": {"memory": "900TB"},
    "write a unit, as in 512MB": {"memory": 512},
    "7 GPU, but there are": {"gpu": 7},
    "without a container runtime": {"image": "repo/name"},
    "none.txt cannot be read": {"requirements": "none.txt"},
    "data/numbers.csv is both in": {"input": "numbers", "code": "/clash/@clash"},
}


def test_what_cannot_be_run_is_refused_before_anything_is_queued(
    acai: Shell, lake: sdk.Client, work: Path
) -> None:
    (work / "clash").write_text("mine")
    lake.upload({"clash": "/clash/data/numbers.csv"})
    lake.create_file_set("clash", "/clash/")
    (work / "bad.yaml").write_text("command: x\nresource: {cpu: 2}\n")
    before = [one.id for one in lake.jobs()], [one.id for one in lake.list_sets()]
    for problem, options in REFUSED.items():
        with pytest.raises(sdk.AcaiError) as caught:
            lake.run(**{"command": "true", **options})
        assert problem in caught.value.message
    refused = acai("run", "--input", "nothing", "true")
    assert refused.complaint() == "there is no set nothing; see `acai set ls`"
    error = acai("run", "-f", "bad.yaml", "--json")
    assert error.json["error"] == {
        "code": "invalid_input",
        "message": "bad.yaml line 2: 'resource' is not a key of a job; did you mean 'resources'?",
        "detail": {"file": "bad.yaml", "line": 2, "key": "resource"},
    }
    assert "give a command" in acai("run").complaint(2)
    assert "--arg 'n' is no assignment" in acai("run", "--arg", "n", "true").complaint(2)
    assert before == ([one.id for one in lake.jobs()], [one.id for one in lake.list_sets()])


def test_a_terminal_sees_tables_that_fit(acai: Shell) -> None:
    started(acai, "--name", "x" * 60, "true")
    leader, follower = pty.openpty()
    environment = clean_environment(acai.home, COLUMNS="72", TERM="xterm")
    subprocess.run(
        [ACAI, "job", "ls"], env=environment, stdout=follower, stderr=follower, check=True
    )
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    assert max(len(line) for line in lines) <= 72 and "…" in shown


def test_the_same_from_python(lake: sdk.Client, work: Path) -> None:
    job = lake.run(
        "python train.py {epochs}",
        input="numbers",
        code="src/",
        args={"epochs": 2},
        output="model",
        cpu=0.5,
        memory="256MB",
        timeout="5m",
        meta={"by": "python"},
    )
    assert job.status == "queued" and job.output is None
    with pytest.raises(AttributeError):
        job.status = "finished"  # type: ignore[misc,assignment]
    job.wait()
    assert (job.status, job.exit_code) == ("finished", 0)
    assert job.logs(tail=1) == "[ACAI_TAG_NUM] FILESET total:6\n"
    assert next(iter(job.follow())) == "[ACAI_TAG_NUM] JOB loss:1.0"
    assert job.output is not None and job.output.startswith("model:")
    assert job.output.download("got/").file_count == 1
    assert (work / "got/model/model.txt").read_text() == "2 3"
    assert {edge.job for edge in lake.trace(job.output).edges} == {job.id}
    assert [point.value for point in job.series("loss")[0].points] == [1.0, 0.5]
    assert job.detail().request.timeout == 300.0
    assert [one.id for one in lake.jobs(user="me", limit=1)] == [job.id]
    again = job.rerun(args={"epochs": 1}).wait()
    assert again.command == "python train.py 1" and again.meta["by"] == "python"
    slow = lake.run("sleep 60")
    assert not slow.wait(timeout=0.5).status.ended
    assert slow.kill().wait().status == "killed"
    assert slow.refresh().status == "killed" and slow.status != "killed"
    assert lake.run_file("job.yaml", wait=True).status == "finished"
    assert lake.queue().capacity.cpu > 0
    with pytest.raises(sdk.NotFound):
        lake.job("job-2222222222")
    with pytest.raises(sdk.InvalidInput):
        lake.run("echo {n}", code="src/")


def test_following_outlives_the_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with acai_up(home) as server:
        acai = Shell(home=home)
        command = "for i in $(seq 25); do echo line $i; sleep 0.1; done"
        watching = popen(acai, "run", "--follow", command)
        assert watching.stdout is not None
        first = watching.stdout.readline()
        server.kill()
        port = server.port
    with acai_up(home, port=port):
        rest, said = watching.communicate(timeout=60)
        assert watching.returncode == 0, said
        assert (first + rest).splitlines() == [f"line {n}" for n in range(1, 26)]
        assert "finished" in said
