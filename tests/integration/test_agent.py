"""The agent against a desk that keeps what it is told (see `servers.agent_desk`): whatever the
program, the server or the network does, the log is whole and the end is told once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from acai.agent.main import DELIVERED, DISMISSED, UNDELIVERED, run
from acai.agent.settings import AgentSettings
from acai.model.assignments import Outcome, TagTarget
from acai.model.jobs import Environment
from servers.agent_desk import ATTEMPT, JOB, assignment, desk_for

MIB = 1024 * 1024
PYTHON = sys.executable


class InBackground:
    """An agent in a thread of this process."""

    def __init__(self, settings: AgentSettings) -> None:
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, args=(settings,))
        self._thread.start()

    def _run(self, settings: AgentSettings) -> None:
        self.code = run(settings)

    def wait(self, seconds: float = 30.0) -> int | None:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the agent did not end"
        return self.code


@contextmanager
def as_process(settings: AgentSettings) -> Iterator[subprocess.Popen[bytes]]:
    """The agent as `python -m acai.agent`."""
    given = {
        "ACAI_SERVER": settings.server,
        "ACAI_TOKEN": settings.token,
        "ACAI_JOB_ID": settings.job,
        "ACAI_ATTEMPT": str(settings.attempt),
        "ACAI_PROJECT": settings.project,
        "ACAI_RUN_DIR": str(settings.run_dir),
        "ACAI_CACHE_DIR": str(settings.cache_dir),
    }
    process = subprocess.Popen([PYTHON, "-m", "acai.agent"], env={**os.environ, **given})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def peak_memory(pid: int) -> int:
    """Since the program began; what is waited for would count the test's own memory, which the
    child shared before its exec."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 if "VmHWM:" in status else 0


def until(true: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def script(directory: Path, text: str) -> str:
    """A Python program as a command."""
    file = directory / "program.py"
    file.write_text(text)
    return f"{PYTHON} {file}"


def test_a_job_that_does_nothing_takes_two_requests(tmp_path: Path) -> None:
    with desk_for(assignment("true")) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.requests == ["begin", "end"]
        assert desk.ending.outcome is Outcome.SUCCEEDED
        assert desk.ending.exit_code == 0 and desk.ending.reason is None
        assert desk.ending.started is not None and desk.ending.ended is not None
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["exit.json"]
    said = json.loads((tmp_path / "run" / "exit.json").read_text())
    assert said["outcome"] == "succeeded" and said["status"] == "finished"


def test_output_arrives_in_order_with_half_lines_and_binary(tmp_path: Path) -> None:
    text = """
import os, time
for n in range(40):
    os.write(1, b"out %d" % n)
    os.write(2, b" err %d\\n" % n)
os.write(1, bytes(range(256)) * 4 + b"\\xff\\xfe half a li")
time.sleep(0.5)
os.write(1, b"ne, and no end")
"""
    with desk_for(assignment(script(tmp_path, text))) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        lines = b"".join(b"out %d err %d\n" % (n, n) for n in range(40))
        half = bytes(range(256)) * 4 + b"\xff\xfe half a li"
        assert bytes(desk.log) == lines + half + b"ne, and no end"
        assert desk.ending.log_size == len(desk.log)
        # The half line was there long before the rest of it.
        assert desk.log_times[-1] - desk.log_times[0] > 0.3


def test_tags_are_told_while_the_program_runs(tmp_path: Path) -> None:
    command = (
        "echo '[ACAI_TAG_NUM] JOB loss:0.5'; echo '[ACAI_TAG] FILESET model:BERT';"
        " echo '[ACAI_TAG_NUM] JOB loss:low'; sleep 1.6; printf '[ACAI_TAG_NUM] JOB loss:0.25'"
    )
    with desk_for(assignment(command)) as desk:
        agent = InBackground(desk.settings(tmp_path))
        until(lambda: len(desk.tags) == 2)
        assert not desk.ended.is_set()
        assert agent.wait() == DELIVERED
        assert [(tag.n, tag.target, tag.key, tag.value) for tag in desk.tags] == [
            (1, TagTarget.JOB, "loss", 0.5),
            (2, TagTarget.OUTPUT, "model", "BERT"),
            (3, TagTarget.JOB, "loss", 0.25),
        ]
        assert desk.reports[-1].malformed_tags == 1
        assert desk.phases == ["running"]
        assert 1 <= len(desk.samples) <= 2


def test_a_burst_of_100_megabytes_neither_stalls_nor_fills_memory(tmp_path: Path) -> None:
    text = """
import os
line = b"x" * 99 + b"\\n"
for n in range(100):
    os.write(1, line * 10_000)
"""
    with desk_for(assignment(script(tmp_path, text))) as desk:
        desk.log_delay = 0.04  # each chunk: four seconds altogether
        peak = 0
        with as_process(desk.settings(tmp_path)) as agent:
            deadline = time.monotonic() + 60
            while not desk.ended.wait(0.05):
                assert time.monotonic() < deadline
                peak = max(peak, peak_memory(agent.pid))
            assert agent.wait(timeout=30) == DELIVERED
        assert desk.ending.outcome is Outcome.SUCCEEDED
        assert desk.ending.log_size == len(desk.log) == 100_000_000
        expected = hashlib.sha256(b"".join([b"x" * 99 + b"\n"] * 1_000_000)).hexdigest()
        assert hashlib.sha256(desk.log).hexdigest() == expected
        # The program was long gone when the last of its output arrived.
        assert desk.ending.ended is not None
        ended_ago = (datetime.now(UTC) - desk.ending.ended).total_seconds()
        assert ended_ago > time.monotonic() - desk.log_times[-1] + 0.5
        assert 0 < peak < 120 * MIB


def test_a_log_travels_compressed_between_machines(tmp_path: Path) -> None:
    with desk_for(assignment("seq 1 5000")) as desk:
        elsewhere = desk.url.replace("127.0.0.1", "0.0.0.0")  # not loopback by its name
        assert run(desk.settings(tmp_path, server=elsewhere)) == DELIVERED
        assert desk.log.decode().split() == [str(n) for n in range(1, 5001)]
        assert desk.compressed >= 1


def test_a_server_that_is_away_for_a_while_misses_nothing(tmp_path: Path) -> None:
    text = """
import time
for n in range(25):
    print(f"line {n}", flush=True)
    print(f"[ACAI_TAG_NUM] JOB step:{n}", flush=True)
    time.sleep(0.1)
"""
    with desk_for(assignment(script(tmp_path, text))) as desk:
        agent = InBackground(desk.settings(tmp_path))
        until(lambda: desk.log)
        desk.away.set()
        time.sleep(3)
        assert not desk.endings
        desk.away.clear()
        assert agent.wait() == DELIVERED
        wanted = "".join(f"line {n}\n[ACAI_TAG_NUM] JOB step:{n}\n" for n in range(25))
        assert desk.log.decode() == wanted
        assert [tag.value for tag in desk.tags] == list(range(25))
        assert desk.ending.outcome is Outcome.SUCCEEDED
        assert desk.ending.started is not None and desk.ending.ended is not None
        assert (desk.ending.ended - desk.ending.started).total_seconds() < 10  # it ran on


def test_a_server_is_found_again_at_another_address(tmp_path: Path) -> None:
    with desk_for(assignment("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done")) as desk:
        file = tmp_path / "server.lock"
        agent = InBackground(desk.settings(tmp_path, server_file=file))
        until(lambda: desk.log)
        desk.move()
        file.write_text(json.dumps({"url": "http://elsewhere", "local": desk.url}))
        assert agent.wait() == DELIVERED
        assert bytes(desk.log) == b"1\n2\n3\n4\n5\n6\n"


def test_an_end_that_cannot_be_told_is_kept_with_the_output(tmp_path: Path) -> None:
    given = assignment("mkdir -p kept && echo precious > kept/file; exit 3")
    with desk_for(given) as desk:
        agent = InBackground(desk.settings(tmp_path, patience=0.4))
        until(lambda: "begin" in desk.requests)
        desk.away.set()
        assert agent.wait() == UNDELIVERED
    kept = json.loads((tmp_path / "run" / "ending.json").read_text())
    assert kept["outcome"] == "failed" and kept["reason"] == "exit code 3"
    assert (tmp_path / "run" / "work" / "kept" / "file").read_text() == "precious\n"


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        ("exit 3", 3, "exit code 3"),
        ("kill -SEGV $$", 139, "ended by SIGSEGV"),
        ("sh -c 'kill -ABRT $$'; exit $?", 134, "ended by SIGABRT"),
        ("no-such-program", 127, "exit code 127"),
    ],
)
def test_a_failure_is_named(tmp_path: Path, command: str, code: int, reason: str) -> None:
    with desk_for(assignment(command)) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.FAILED
        assert (desk.ending.exit_code, desk.ending.reason) == (code, reason)


def test_a_time_out_ends_even_what_does_not_listen(tmp_path: Path) -> None:
    given = assignment("trap '' TERM; echo on; while true; do sleep 0.1; done", timeout=0.4)
    with desk_for(given) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.TIMED_OUT
        assert desk.ending.reason == "timed out after 400 ms; try a longer --timeout"
        assert desk.ending.started is not None and desk.ending.ended is not None
        assert 0.8 < (desk.ending.ended - desk.ending.started).total_seconds() < 10


def test_the_server_can_have_it_killed(tmp_path: Path) -> None:
    given = assignment("trap 'echo saved; exit 0' TERM; echo on; while :; do sleep 0.05; done")
    with desk_for(given) as desk:
        agent = InBackground(desk.settings(tmp_path))
        until(lambda: desk.log)
        desk.kill = True
        assert agent.wait() == DELIVERED
        assert desk.ending.outcome is Outcome.KILLED and desk.ending.reason == "killed"
        assert desk.log.startswith(b"on\n") and desk.log.endswith(b"saved\n")


def test_a_sigterm_to_the_agent_kills_the_program_and_is_told(tmp_path: Path) -> None:
    with (
        desk_for(assignment("echo on; sleep 60")) as desk,
        as_process(desk.settings(tmp_path)) as agent,
    ):
        until(lambda: desk.log)
        agent.send_signal(signal.SIGINT)  # meant for the server in the same terminal
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(10) == DELIVERED
        assert desk.ending.outcome is Outcome.KILLED


@pytest.mark.parametrize("how", ["stop", "revoked"])
def test_an_attempt_that_no_longer_counts_ends_without_a_word(tmp_path: Path, how: str) -> None:
    pid_file = tmp_path / "pid"
    given = assignment(f"echo $$ > {pid_file}; echo on; sleep 60")
    with desk_for(given) as desk:
        agent = InBackground(desk.settings(tmp_path))
        until(lambda: desk.log)
        setattr(desk, how, True)
        assert agent.wait() == DISMISSED
        assert not desk.endings
    assert not (tmp_path / "run" / "work").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_what_a_program_leaves_running_is_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 60' & sleep 0.3; echo done"
    with desk_for(assignment(command)) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.SUCCEEDED
        assert bytes(desk.log) == b"done\n"
    pid = int(pid_file.read_text())
    until(lambda: _ended(pid))


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_out_of_memory_says_so_even_behind_a_shell(tmp_path: Path) -> None:
    eat = script(tmp_path, "held = []\nwhile True: held.append(bytearray(b'x') * 10_000_000)\n")
    with desk_for(assignment(f"{eat}; echo the shell goes on", memory=64 * 10**6)) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.OUT_OF_MEMORY
        said = "out of memory: used 64 MB of 64 MB; try --memory 128MB"
        assert desk.ending.reason == said
        assert desk.ending.exit_code == 137


def test_the_program_is_told_where_it_is_and_not_what_is_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACAI_DATABASE", "postgresql://user:password@host/db")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    command = "env; pwd; command -v python; ls -A $ACAI_OUTPUT_DIR"
    given = assignment(command, cpu=1.5, env={"MINE": "yes", "ACAI_TOKEN": "stolen"})
    with desk_for(given) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        lines = desk.log.decode().splitlines()
    work = str(tmp_path / "run" / "work")
    assert lines[-2:] == [work, str(Path(PYTHON).with_name("python"))]
    for line in (
        f"ACAI_JOB_ID={JOB}",
        f"ACAI_ATTEMPT={ATTEMPT}",
        "ACAI_PROJECT=default",
        "ACAI_TOKEN=acai_token",
        f"ACAI_SERVER={desk.url}",
        f"ACAI_INPUT_DIR={work}",
        "OMP_NUM_THREADS=2",
        "PYTHONUNBUFFERED=1",
        "MINE=yes",
    ):
        assert line in lines
    assert "password" not in desk.log.decode()


def test_an_environment_that_cannot_be_built_fails_plainly(tmp_path: Path) -> None:
    wanted = Environment(python="2.6")
    with desk_for(assignment("echo never", environment=wanted)) as desk:
        assert run(desk.settings(tmp_path)) == DELIVERED
        assert desk.ending.outcome is Outcome.FAILED
        assert desk.ending.reason is not None and "no Python 2.6" in desk.ending.reason
        assert desk.ending.started is None and not desk.log


@pytest.mark.slow
def test_requirements_are_built_once_and_a_failure_is_in_the_log(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    wheel = package / "acai_probe-1.0-py3-none-any.whl"
    _write_wheel(wheel)
    good = Environment(requirements=f"{wheel}\n")
    command = "python -c 'import acai_probe, sys; print(acai_probe.WORD, sys.prefix)'"
    prefixes = set()
    for attempt in ("first", "second"):
        with desk_for(assignment(command, environment=good)) as desk:
            assert run(desk.settings(tmp_path / attempt, cache_dir=tmp_path / "cache")) == DELIVERED
            assert desk.ending.outcome is Outcome.SUCCEEDED, desk.log.decode()
            word, prefix = desk.log.decode().split()
            assert word == "fruit"
            prefixes.add((prefix, os.stat(f"{prefix}/pyvenv.cfg").st_mtime_ns))
    assert len(prefixes) == 1
    bad = Environment(requirements="./no-such-package.whl\n")
    with desk_for(assignment(command, environment=bad)) as desk:
        assert run(desk.settings(tmp_path / "bad", cache_dir=tmp_path / "cache")) == DELIVERED
        assert desk.ending.outcome is Outcome.FAILED
        assert desk.ending.reason is not None
        assert desk.ending.reason.startswith("the environment could not be built: ")
        assert b"no-such-package" in desk.log
    left = [each for each in (tmp_path / "cache" / "envs").iterdir() if each.is_dir()]
    assert len(left) == 1


def _write_wheel(file: Path) -> None:
    import zipfile

    info = "acai_probe-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("acai_probe.py", "WORD = 'fruit'\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: acai-probe\nVersion: 1.0\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_a_job_killed_before_it_began_is_told_so(tmp_path: Path) -> None:
    with desk_for(assignment("echo never")) as desk:
        desk.away.set()
        with as_process(desk.settings(tmp_path)) as agent:
            until(lambda: desk.knocks, 30)
            agent.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            desk.away.clear()
            assert agent.wait(15) == DELIVERED
        assert desk.ending.outcome is Outcome.KILLED and not desk.log
