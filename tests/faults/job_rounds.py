"""Rounds of jobs in which the server, an agent, a program, or all of them are killed.

    python tests/faults/job_rounds.py --kills 300 [--database URL] [--seed N]

Jobs are submitted all the while; after each pause somebody is killed at a random moment, and the
server is started again if it was the one. At the end every job must have come to an end, none
may have run twice at once, each finished job must have exactly its own output, no set may be
half-made, and nothing may be left running or counted as running.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from acai.client.client import Client
from acai.client.credentials import Credentials
from acai.model.errors import AcaiError
from acai.model.jobs import JobRequest, JobState, OutputSpec, Resources
from servers.acai_up import RunningServer, acai_up

LONGEST_WAIT = 240.0
MIB = 1024 * 1024


class Rounds:
    def __init__(self, home: Path, environment: dict[str, str], seed: int) -> None:
        self.home = home
        self.environment = environment
        self.random = random.Random(seed)
        self.marks = home.parent / "marks"
        self.kills: Counter[str] = Counter()
        self.submitted: dict[str, str] = {}  # job → the word that its output holds
        self.unsure = 0
        self.stop = threading.Event()
        self._context: object = None
        self.server: RunningServer | None = None

    def start(self) -> None:
        self._context = acai_up(self.home, self.environment)
        self.server = self._context.__enter__()  # type: ignore[attr-defined]

    def end_server(self) -> None:
        self._context.__exit__(None, None, None)  # type: ignore[attr-defined]

    def client(self) -> Client:
        assert self.server is not None
        login = Credentials.load(self.home).logins[0]
        return Client(self.server.url, login.token, login.project)

    def submit_on(self) -> None:
        """Keep a handful of jobs under way; what is not acknowledged may exist or not."""
        number = 0
        while not self.stop.is_set():
            number += 1
            word = f"w{number}"
            try:
                with self.client() as client:
                    if client.queue().own_queued < 12:
                        job = client.submit(self._request(word))
                        self.submitted[job.id] = word
            except AcaiError:
                self.unsure += 1
            self.stop.wait(0.05)

    def _request(self, word: str) -> JobRequest:
        pause = self.random.choice([0.0, 0.05, 0.2, 0.6])
        mark = f"$ACAI_JOB_ID $ACAI_ATTEMPT $(date +%s.%N) >> {self.marks}"
        return JobRequest(
            command=f"echo begin {mark}; echo {word} > out/word; sleep {pause}; echo end {mark}",
            output=OutputSpec(name="words"),
            resources=Resources(cpu=0.25, memory=64 * MIB),
            retries=5,
            args={"word": word},
        )

    def kill_somebody(self) -> None:
        time.sleep(self.random.uniform(0.02, 0.6))
        whom = self.random.choices(["server", "agent", "program", "power"], [3, 4, 3, 1])[0]
        assert self.server is not None
        if whom == "server":
            self.server.process.kill()
        elif whom == "agent":
            if not self._kill_one(self._agents()):
                return
        elif whom == "program":
            if not self._kill_one(self._programs()):
                return
        else:
            self.server.process.kill()
            for pid in [*self._agents(), *self._programs()]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.kills[whom] += 1
        if whom in ("server", "power"):
            self.server.process.wait(timeout=10)
            time.sleep(self.random.uniform(0, 0.5))
            self.end_server()
            self.start()

    def _kill_one(self, pids: list[int]) -> bool:
        if not pids:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.random.choice(pids), signal.SIGKILL)
            return True
        return False

    def _agents(self) -> list[int]:
        found = []
        for record in (self.home / "agents").glob("job-*/agent"):
            with suppress(OSError, ValueError, KeyError):
                found.append(int(json.loads(record.read_text())["pid"]))
        return found

    def _programs(self) -> list[int]:
        """Processes whose environment says that they are a job's."""
        found = []
        mark = b"ACAI_OUTPUT_DIR=" + str(self.home).encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words = (entry / "environ").read_bytes().split(b"\0")
                    if any(word.startswith(mark) for word in words):
                        found.append(int(entry.name))
        return found

    def wait_for_all(self) -> None:
        deadline = time.monotonic() + LONGEST_WAIT
        with self.client() as client:
            while time.monotonic() < deadline:
                state = client.queue()
                if state.queued == state.active == 0:
                    return
                time.sleep(0.5)
            left = [(j.id, j.status, j.attempt) for j in client.jobs() if not j.status.ended]
        raise AssertionError(f"jobs never ended: {left}")

    def check(self) -> Counter[str]:
        with self.client() as client:
            known = {job.id: job for job in client.jobs()}
            lost = set(self.submitted) - set(known)
            assert not lost, f"acknowledged jobs are forgotten: {lost}"
            outputs = Counter(job.output for job in known.values() if job.output)
            twice = [ref for ref, count in outputs.items() if count > 1]
            assert not twice, f"two jobs claim one output: {twice}"
            try:
                versions = {f"{one.name}:{one.version}" for one in client.set_versions("words")}
            except AcaiError:
                versions = set()
            assert versions == set(outputs), "sets without a job, or jobs without their set"
            for job in known.values():
                assert job.status.ended
                if job.status is JobState.FINISHED:
                    assert job.output, f"{job.id} finished without its output"
                    word = client.read_bytes(f"/words/word@{job.output}").decode().strip()
                    expected = self.submitted.get(job.id, word)
                    assert word == expected, f"{job.id} has the output of another"
                else:
                    assert job.reason, f"{job.id} is {job.status} and does not say why"
        self._check_marks()
        self._check_remains()
        return Counter(job.status.value for job in known.values())

    def _check_marks(self) -> None:
        """An attempt begins only after every earlier one of its job is over."""
        begun: dict[str, list[tuple[float, int]]] = {}
        for line in self.marks.read_text().splitlines():
            words = line.split()
            if len(words) == 4 and words[0] == "begin":
                begun.setdefault(words[1], []).append((float(words[3]), int(words[2])))
        for job, marks in begun.items():
            attempts = [attempt for _, attempt in sorted(marks)]
            assert attempts == sorted(set(attempts)), f"{job} ran an attempt twice: {attempts}"

    def _check_remains(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            left = [one.name for one in (self.home / "agents").iterdir() if one.name[0] != "."]
            if not left and not self._programs():
                return
            time.sleep(0.5)
        raise AssertionError(f"left behind: {left} {self._programs()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--database", default="")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="acai-faults-"))
    environment = {"ACAI_DATABASE": given.database, "ACAI_JOB_LEASE": "5s"}
    rounds = Rounds(root / "home", environment, given.seed)
    began = time.monotonic()
    rounds.start()
    try:
        feeder = threading.Thread(target=rounds.submit_on)
        feeder.start()
        try:
            while rounds.kills.total() < given.kills:
                rounds.kill_somebody()
        finally:
            rounds.stop.set()
            feeder.join()
        rounds.wait_for_all()
        states = rounds.check()
    finally:
        rounds.end_server()
    shutil.rmtree(root, ignore_errors=True)
    print(
        f"seed {given.seed}: {dict(rounds.kills)} killed in {time.monotonic() - began:.0f} s;"
        f" {len(rounds.submitted)} jobs acknowledged, {dict(states)}; nothing lost"
    )


if __name__ == "__main__":
    main()
