"""The time from submitting a job that does nothing to its end, here and elsewhere, in one run.

    python bench/engine/noop.py [--runs 20] [--install]

The limit is a bare process. Peers that are not installed are left out and named; `--install`
puts Ray and Metaflow into environments of their own under ~/.cache/acai-bench (a gigabyte, some
minutes). Slurm is used if `sbatch`, `slurmctld` and `munged` are on the PATH: a cluster of one
node is started on loopback for the time of the run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from acai.client.client import Client
from acai.client.credentials import Credentials
from acai.model.jobs import JobRequest, JobState, OutputSpec, Resources
from servers.acai_up import acai_up

CACHE = Path.home() / ".cache" / "acai-bench"
MIB = 1024 * 1024
Once = Callable[[], None]

RAY = """
import sys, time
import ray
from ray.job_submission import JobSubmissionClient, JobStatus
client = JobSubmissionClient(sys.argv[1])
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    job = client.submit_job(entrypoint="true")
    while client.get_job_status(job) not in (JobStatus.SUCCEEDED, JobStatus.FAILED):
        time.sleep(0.01)
    print(time.perf_counter() - began, flush=True)
"""
FLOW = """
from metaflow import FlowSpec, step
class Noop(FlowSpec):
    @step
    def start(self):
        self.next(self.end)
    @step
    def end(self):
        pass
if __name__ == "__main__":
    Noop()
"""


def measured(once: Once, runs: int) -> list[float]:
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        once()
        times.append(time.perf_counter() - began)
    return times


def bare(runs: int) -> list[float]:
    return measured(lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True) and None, runs)


def ours(runs: int, *, output: bool) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="acai-bench-") as directory:
        home = Path(directory) / "home"
        with acai_up(home) as server:
            login = Credentials.load(home).logins[0]
            with Client(server.url, login.token, login.project) as client:
                request = JobRequest(
                    command="true" if not output else "echo done > out/said",
                    resources=Resources(cpu=0.5, memory=64 * MIB),
                    output=OutputSpec(name="said") if output else None,
                )

                def once() -> None:
                    assert client.submit(request).wait().status is JobState.FINISHED

                measured(once, 3)  # the first starts what is started once
                return measured(once, runs)


def environment(name: str, packages: list[str], install: bool) -> Path | None:
    python = CACHE / name / "bin" / "python"
    if not python.exists():
        if not install:
            return None
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return python


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ray(runs: int, install: bool) -> list[float] | None:
    python = environment("ray", ["ray[default]"], install)
    if python is None:
        return None
    command = python.with_name("ray")
    port, dashboard = free_port(), free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        [
            str(command),
            "start",
            "--head",
            f"--port={port}",
            f"--dashboard-port={dashboard}",
            "--node-ip-address=127.0.0.1",
            "--dashboard-host=127.0.0.1",
            "--disable-usage-stats",
            "--num-cpus=2",
        ],
        check=True,
        **quiet,  # type: ignore[call-overload]
    )
    try:
        time.sleep(5)
        said = subprocess.run(
            [str(python), "-c", RAY, f"http://127.0.0.1:{dashboard}", str(runs)],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
    finally:
        subprocess.run([str(command), "stop", "--force"], check=False, **quiet)  # type: ignore[call-overload]
    return [float(line) for line in said.split() if line[0].isdigit()]


def metaflow(runs: int, install: bool) -> list[float] | None:
    python = environment("metaflow", ["metaflow"], install)
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "flow.py").write_text(FLOW)
        known = {**os.environ, "METAFLOW_HOME": directory, "USERNAME": "bench"}

        def once() -> None:
            subprocess.run(
                [str(python), "flow.py", "run"],
                cwd=directory,
                env=known,
                check=True,
                capture_output=True,
            )

        return measured(once, runs)


SLURM_CONF = """ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.sock
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm_cluster() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="acai-slurm-") as directory:
        root = Path(directory)
        (root / "state").mkdir()
        (root / "spool").mkdir()
        key = root / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        host = socket.gethostname().partition(".")[0]
        conf = SLURM_CONF.format(root=root, host=host, controller=free_port(), node=free_port())
        (root / "slurm.conf").write_text(conf)
        known = {**os.environ, "SLURM_CONF": str(root / "slurm.conf")}
        start = [
            [
                "munged",
                "--force",
                f"--key-file={key}",
                f"--socket={root}/munge.sock",
                f"--pid-file={root}/munged.pid",
                f"--log-file={root}/munged.log",
                f"--seed-file={root}/munge.seed",
            ],
            ["slurmctld", "-i", "-c"],
            ["slurmd", "-N", "n1"],
        ]
        try:
            for one in start:
                subprocess.run(one, env=known, check=True, capture_output=True)
            time.sleep(3)
            yield known
        finally:
            for name in ("slurmd", "slurmctld", "munged"):
                with suppress(OSError, ValueError):
                    os.kill(int((root / f"{name}.pid").read_text()), 15)
            time.sleep(1)


def slurm(runs: int) -> list[float] | None:
    if not all(shutil.which(one) for one in ("sbatch", "slurmctld", "slurmd", "munged")):
        return None
    with slurm_cluster() as known, tempfile.TemporaryDirectory() as directory:
        number = iter(range(10**6))

        def once() -> None:
            mark = Path(directory) / str(next(number))
            subprocess.run(
                ["sbatch", "-o", "/dev/null", "--wrap", f"touch {mark}"],
                env=known,
                check=True,
                capture_output=True,
            )
            deadline = time.monotonic() + 60
            while not mark.exists():
                if time.monotonic() > deadline:
                    raise TimeoutError("the Slurm job did not run")
                time.sleep(0.005)

        measured(once, 2)
        return measured(once, runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    few = max(3, given.runs // 4)
    rows: list[tuple[str, list[float] | None]] = [
        ("limit: a bare process", bare(given.runs)),
        ("acai, no output", ours(given.runs, output=False)),
        ("acai, a file becomes a set", ours(given.runs, output=True)),
        ("Slurm, sbatch to the script's start", slurm(few)),
        ("Ray Jobs", ray(few, given.install)),
        ("Metaflow, a local flow of two steps", metaflow(few, given.install)),
    ]
    own = statistics.median(rows[1][1] or [0])
    print("| a job that does nothing | median, ms | p95, ms | times acai |")
    print("|---|---|---|---|")
    for name, times in rows:
        if times is None:
            print(f"| {name} | not installed | | |")
            continue
        middle = statistics.median(times)
        worst = sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]
        print(f"| {name} | {middle * 1000:.0f} | {worst * 1000:.0f} | {middle / own:.2f} |")


if __name__ == "__main__":
    main()
