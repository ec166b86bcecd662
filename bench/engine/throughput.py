"""Many small jobs of several users: the rate, and how evenly the users are served.

    python bench/engine/throughput.py [--jobs 1000] [--users 10] [--database URL]

The limit is the same number of bare processes, two at a time. Users submit one after the other;
the shares are of the jobs that ended between the last submit and the first empty queue, while
everybody waits and the scheduler alone decides.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from acai.client.client import Client
from acai.client.credentials import Credentials
from acai.model.jobs import JobRequest, JobState, Resources
from servers.acai_up import acai_up

MIB = 1024 * 1024


def bare(count: int) -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: subprocess.run(["/bin/true"], check=True), range(count)))
    return count / (time.perf_counter() - began)


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def finished(client: Client) -> Counter[str]:
    return Counter(job.creator for job in client.jobs(status=[JobState.FINISHED]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--database", default="")
    given = parser.parse_args()
    limit = bare(min(given.jobs, 300))
    with tempfile.TemporaryDirectory(prefix="acai-bench-") as directory:
        home = Path(directory) / "home"
        with acai_up(home, {"ACAI_DATABASE": given.database}) as server:
            login = Credentials.load(home).logins[0]
            admin = Client(server.url, login.token, login.project)
            users = [
                Client(server.url, admin.create_user(f"user{i}").token, login.project)
                for i in range(given.users)
            ]
            request = JobRequest(command="true", resources=Resources(cpu=0.5, memory=32 * MIB))
            began = time.perf_counter()
            with ThreadPoolExecutor(4) as pool:
                # All of the first user's jobs are there before the last user's first.
                order = [user for user in users for _ in range(given.jobs // given.users)]
                list(pool.map(lambda user: user.submit(request), order))
            submitted = time.perf_counter() - began
            before = finished(admin)
            shares: Counter[str] = Counter()
            share = given.jobs // given.users
            while True:
                state = admin.queue()
                left = state.queued + state.active
                if not shares:
                    now = finished(admin)
                    if max(now.values(), default=0) >= share - 2:
                        shares = Counter({who: now[who] - before[who] for who in now})
                if left == 0:
                    break
                time.sleep(0.25 if shares else 2.0)
            elapsed = time.perf_counter() - began
            ended = Counter(job.status.value for job in admin.jobs())
            memory = resident(server.process.pid)
            for client in (*users, admin):
                client.close()
    rate = given.jobs / elapsed
    fair = sum(shares.values()) / given.users
    worst = max(abs(count - fair) / fair for count in shares.values())
    print(f"{os.cpu_count()} cores; {given.jobs} jobs of {given.users} users: {dict(ended)}")
    print("| | per second | of the limit |")
    print("|---|---|---|")
    print(f"| limit: bare processes | {limit:.0f} | 1 |")
    print(f"| submitted | {given.jobs / submitted:.1f} | {given.jobs / submitted / limit:.3f} |")
    print(f"| from the first submit to the last end | {rate:.1f} | {rate / limit:.3f} |")
    print(f"shares while all waited: {dict(sorted(shares.items()))}: within {worst:.0%} of even")
    print(f"memory of the server: {memory / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
