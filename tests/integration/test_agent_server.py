"""The agent with a real server, which is killed while the program runs and comes back elsewhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from acai.client.client import Client
from acai.client.credentials import LOCAL, Credentials
from acai.model.jobs import JobState
from servers.acai_up import RunningServer, acai_up

PROGRAM = """
import os, time
print("[ACAI_TAG] FILESET model:small")
for n in range(40):
    print(f"line {n}")
    print(f"[ACAI_TAG_NUM] JOB loss:{1 / (n + 1)}")
    time.sleep(0.1)
with open(os.path.join(os.environ["ACAI_OUTPUT_DIR"], "model.bin"), "wb") as out:
    out.write(open("data/train.txt", "rb").read())
"""


def client_of(server: RunningServer) -> Client:
    login = Credentials.load(server.home).find(LOCAL, None)
    assert login is not None
    return Client(server.url, login.token)


@pytest.mark.slow
def test_a_server_that_was_killed_finds_the_job_whole(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("data\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    home = tmp_path / "home"
    with acai_up(home) as server:
        lake = client_of(server)
        lake.upload(tmp_path / "train.txt", "/data/train.txt")
        lake.create_file_set("data", ["/data/"])
        job = lake.run(
            "python train.py", input="data", code=str(tmp_path / "train.py"), output="model"
        )
        deadline = time.monotonic() + 30
        while b"line 3" not in lake.job_log(job.id) and time.monotonic() < deadline:
            time.sleep(0.05)
        server.kill()
        lake.close()
    time.sleep(1.0)
    with acai_up(home) as server:
        lake = client_of(server)
        done = lake.wait_for_job(job.id, timeout=60)
        assert done.status is JobState.FINISHED, done.reason
        assert done.attempt == 1
        printed = lake.job_log(job.id).decode().splitlines()
        assert printed[1::2] == [f"line {n}" for n in range(40)]
        (series,) = lake.job_series(job.id, "loss")
        assert [point.value for point in series.points] == [1 / (n + 1) for n in range(40)]
        assert lake.read_bytes("/model/model.bin") == b"data\n"
        (found,) = lake.find_sets("model = small")
        assert found.name == "model"
        lake.close()
