"""The second job on the same large input starts on the first one's copy.

    python bench/engine/warm_input.py [--gigabytes 2]

Time from submit to the program's start, for the first job and for the second; the limit is
linking the same files by hand.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from acai.client.client import Client
from acai.client.credentials import Credentials
from acai.model.jobs import JobState
from servers.acai_up import acai_up

FILES = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2)
    given = parser.parse_args()
    size = int(given.gigabytes * 1e9 / FILES)
    with tempfile.TemporaryDirectory(prefix="acai-bench-", dir="/var/tmp") as directory:
        root = Path(directory)
        (root / "data").mkdir()
        block = os.urandom(1 << 20)
        for i in range(FILES):
            with (root / "data" / f"part{i}").open("wb") as file:
                for _ in range(size // len(block)):
                    file.write(block)
                file.write(os.urandom(16))
        with acai_up(root / "home") as server:
            login = Credentials.load(root / "home").logins[0]
            with Client(server.url, login.token, login.project) as client:
                client.upload(root / "data", "/data/")
                client.create_file_set("data", ["/data/"])
                print(f"| {given.gigabytes:g} GB in {FILES} files | seconds to the start |")
                print("|---|---|")
                began = time.perf_counter()
                (root / "by-hand").mkdir()
                for i in range(FILES):
                    os.link(root / "data" / f"part{i}", root / "by-hand" / f"part{i}")
                print(f"| limit: link by hand | {time.perf_counter() - began:.4f} |")
                for which in ("first job", "second job", "third job"):
                    job = client.run("cat data/* | wc -c", input="data", memory="256MB").wait()
                    assert job.status is JobState.FINISHED, (job.reason, job.logs())
                    assert job.start_time is not None
                    waited = (job.start_time - job.submit_time).total_seconds()
                    print(f"| {which} | {waited:.2f} |")


if __name__ == "__main__":
    main()
