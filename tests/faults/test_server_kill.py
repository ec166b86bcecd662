"""A server that is killed at any moment loses nothing it has acknowledged, and starts again."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from acai.client.client import Client
from acai.client.credentials import discover
from acai.model.errors import AcaiError
from servers.acai_up import ACAI, acai_up, clean_environment
from servers.shell import Shell


def client_of(home: Path) -> Client:
    target = discover(environ={"ACAI_HOME": str(home)})
    return Client(target.server, target.token)


def test_what_was_acknowledged_is_there_after_kill_nine(tmp_path: Path) -> None:
    home = tmp_path / "home"
    acknowledged: list[str] = []
    with acai_up(home) as running:

        def create(worker: int) -> None:
            with client_of(home) as client, suppress(AcaiError):
                for number in range(10_000):
                    acknowledged.append(client.create_user(f"w{worker}-{number}").user.name)

        workers = [threading.Thread(target=create, args=(number,)) for number in range(3)]
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + 20
        while len(acknowledged) < 30 and time.monotonic() < deadline:
            time.sleep(0.01)
        running.kill()
        for worker in workers:
            worker.join(30)
    assert len(acknowledged) >= 30
    stale = (home / "server.lock").read_text()
    said = Shell(home=home)("whoami").complaint()
    assert "nothing listens there; start it with `acai up`" in said
    with acai_up(home) as running, client_of(home) as client:
        assert (home / "server.lock").read_text() != stale
        found = {user.name for user in client.list_users()}
        assert set(acknowledged) <= found
        assert len(found - set(acknowledged)) <= 1 + 3  # dana, and what was under way


@pytest.mark.parametrize("turn", range(4))
def test_a_first_start_that_is_killed_leaves_a_home_that_starts(tmp_path: Path, turn: int) -> None:
    """Whenever it dies, the next start ends with a user who is signed in."""
    home = tmp_path / "home"
    process = subprocess.Popen(
        [str(ACAI), "up", "--port", "0"],
        env=clean_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Each turn waits for a later sign of life, then strikes at once.
    signs = ("server.lock", "acai.db", "credentials.toml", "objects")
    deadline = time.monotonic() + 20
    while not (home / signs[turn]).exists() and time.monotonic() < deadline:
        time.sleep(0.0005)
    process.kill()
    process.wait(timeout=10)
    with acai_up(home), client_of(home) as client:
        who = client.whoami()
        assert (who.project, who.role) == ("default", "admin")
        assert len(list(client.list_users())) == 1
