"""Rounds of uploads in which the client or the server is killed at a random moment.

    python tests/faults/upload_rounds.py --rounds 1000 [--database URL] [--seed N]

Each round puts a batch of files, kills somebody, looks at what is visible, and recovers by
running the same upload again. At the end everything that was ever committed is read back, the
sessions are swept, and the store is compared with the database. Processes are forked from one
that has imported everything, so that a round takes a fraction of a second.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from acai import server
from acai.client.client import Client
from acai.identity.service import utc_now
from acai.lake.sweeper import Sweeper
from acai.model.errors import AcaiError
from acai.settings import Settings, load
from acai.stores.objects.opening import open_store
from acai.stores.records.database import PLATFORM, open_database
from acai.stores.records.tables_lake import blobs, objects, uploads

FILES = 6
SHARED = "/shared/"


def fork(act: Callable[[], None]) -> int:
    """Run `act` in a child that dies with nobody's buffers but its own."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        act()
        code = 0
    except AcaiError as error:
        os.write(2, f"child: {error.message}\n".encode())
    except BaseException as error:
        os.write(2, f"child: {error!r}\n".encode())
    finally:
        os._exit(code)


class Platform:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pid = 0
        self.starts = 0

    def ensure(self) -> None:
        if self.pid and os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            return
        reader, writer = os.pipe()

        def serve() -> None:
            os.close(reader)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            server.serve(self.settings, lambda _ready: os.write(writer, b"r") and None)

        self.pid = fork(serve)
        self.starts += 1
        os.close(writer)
        if os.read(reader, 1) != b"r":
            raise SystemExit("the server did not start again")
        os.close(reader)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def stop(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)
            self.pid = 0


class Rounds:
    def __init__(self, settings: Settings, seed: int) -> None:
        self.random = random.Random(seed)
        self.platform = Platform(settings)
        self.settings = settings
        self.work = settings.home.parent / "batch"
        self.committed: dict[str, set[str]] = {}  # path: digests that may lie in its history
        self.kills = {"client": 0, "server": 0, "both": 0, "nobody": 0}
        self.typical = 0.2
        self.partial = 0

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            self.platform.ensure()
            self._round(number)
            if (number + 1) % 100 == 0:
                print(f"{number + 1} rounds", flush=True)
        self.platform.ensure()
        self._read_everything_back()
        self.platform.stop()
        self._sweep_and_compare()

    def _round(self, number: int) -> None:
        self._fill(number)
        own = f"/rounds/{number}/"
        before = self._shared_versions()
        victim = self.random.choices(["client", "server", "both", "nobody"], weights=[5, 4, 2, 1])[
            0
        ]
        started = time.monotonic()
        child = fork(lambda: self._upload(own))
        if victim != "nobody":
            time.sleep(self.random.uniform(0, self.typical * 1.2))
        if victim in ("client", "both"):
            os.kill(child, signal.SIGKILL)
        if victim in ("server", "both"):
            self.platform.kill()
            # The client may wait for the server to come back; this one need not.
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if victim == "nobody":
            assert status == 0, f"round {number}: the upload failed by itself"
            self.typical = 0.8 * self.typical + 0.2 * (time.monotonic() - started)
        self.kills[victim] += 1
        self.platform.ensure()
        for attempt in range(10):
            # A commit that a dead client had sent may still be under way between two looks.
            visible, after = self._visible(own), self._shared_versions()
            assert visible in (0, FILES), f"round {number}: {visible} of {FILES} are visible"
            assert len(set(after)) == 1, f"round {number}: a batch is half visible: {after}"
            if after[0] - before[0] == (1 if visible else 0):
                break
            time.sleep(0.1 * attempt)
        else:
            raise AssertionError(f"round {number}: {visible} visible, {before} then {after}")
        if not visible and self.random.random() < 0.85:  # the others are abandoned
            self.partial += 1
            child = fork(lambda: self._upload(own))
            _, status = os.waitpid(child, 0)
            assert status == 0, f"round {number}: the second attempt failed"
            assert self._visible(own) == FILES
            now = self._shared_versions()
            # Two, if the first attempt's commit came through after all.
            assert len(set(now)) == 1 and now[0] - after[0] in (1, 2), f"{number}: {after} {now}"

    def _fill(self, number: int) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        for place in ("own", "shared"):
            (self.work / place).mkdir(parents=True)
        for index in range(FILES):
            size = self.random.choice([0, 10, 5000, 200_000])
            data = self.random.randbytes(size) + b"%d-%d" % (number, index)
            (self.work / "own" / f"f{index}").write_bytes(data)
            self._expect(f"/rounds/{number}/f{index}", data)
            shared = b"shared %d %d" % (number, index)
            (self.work / "shared" / f"f{index}").write_bytes(shared)
            self._expect(f"{SHARED}f{index}", shared)

    def _expect(self, path: str, data: bytes) -> None:
        self.committed.setdefault(path, set()).add(hashlib.sha256(data).hexdigest())

    def _upload(self, own: str) -> None:
        """One session with this round's own files and the ones that all rounds share."""
        sources = {
            str(self.work / place / f"f{index}"): f"{remote}f{index}"
            for place, remote in (("own", own), ("shared", SHARED))
            for index in range(FILES)
        }
        with self._client() as client:
            client.upload(sources)

    def _client(self) -> Client:
        os.environ["ACAI_HOME"] = str(self.settings.home)
        return Client()

    def _visible(self, directory: str) -> int:
        with self._client() as client:
            try:
                return sum(1 for _ in client.list_files(directory))
            except AcaiError as error:
                if error.code == "file_not_found":
                    return 0
                raise

    def _shared_versions(self) -> list[int]:
        with self._client() as client:
            try:
                found = [line.version or 0 for line in client.list_files(SHARED)]
            except AcaiError as error:
                if error.code != "file_not_found":
                    raise
                found = []
        return found or [0] * FILES

    def _read_everything_back(self) -> None:
        """Every version of every path is there, numbered from 1, with bytes that it ever had."""
        checked = 0
        with self._client() as client:
            shared = self._shared_versions()
            for index in range(FILES):
                versions = list(client.file_versions(f"{SHARED}f{index}"))
                numbers = [one.version for one in versions]
                assert numbers == list(range(shared[index], 0, -1)), f"a gap: {numbers}"
                for one in versions:
                    data = client.read_bytes(f"{SHARED}f{index}:{one.version}")
                    assert hashlib.sha256(data).hexdigest() == one.hash
                    assert one.hash in self.committed[one.path]
                    checked += 1
        print(f"read back {checked} shared versions, no gap")

    def _sweep_and_compare(self) -> None:
        database = open_database(self.settings.database_url)
        store = open_store(self.settings.storage_url, sign_secret=b"any")
        later = timedelta(days=60)
        steady = iter([0.0, 0.0] + [100_000.0] * 1000)

        def clock() -> datetime:
            return utc_now() + later

        for _ in range(2):
            sweeper = Sweeper(
                database,
                store,
                lifetime=timedelta(days=7),
                url_lifetime=timedelta(hours=1),
                clock=clock,
                monotonic=lambda: next(steady),
            )
            sweeper._offset = clock().timestamp() - 100_000.0
            sweeper.sweep()
            later += timedelta(days=1)
        with database.read(PLATFORM) as tx:
            rows = {row.key: row.size for row in tx.execute(select(objects.c.key, objects.c.size))}
            homeless = tx.execute(
                select(func.count())
                .select_from(blobs.outerjoin(objects, objects.c.id == blobs.c.object_id))
                .where(objects.c.id.is_(None))
            ).scalar_one()
            pending = tx.execute(
                select(func.count()).select_from(uploads).where(uploads.c.swept_at.is_(None))
            ).scalar_one()
        stored = {info.key: info.size for info in store.list()}
        assert stored == rows, f"{len(stored)} objects are stored, {len(rows)} are recorded"
        assert homeless == 0, f"{homeless} blobs have no object"
        assert pending == 0, f"{pending} sessions were not swept"
        database.close()
        print(f"after the sweep: {len(stored)} objects stored, the same {len(rows)} recorded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--database")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="acai-rounds-"))
    settings = load(
        {"home": str(place / "home"), "database": given.database, "port": "0", "host": "127.0.0.1"},
        {},
    )
    settings = dataclasses.replace(settings, log_level="error")
    rounds = Rounds(settings, given.seed)
    started = time.monotonic()
    print(f"seed {given.seed}")
    try:
        rounds.run(given.rounds)
    finally:
        rounds.platform.stop()
        shutil.rmtree(place, ignore_errors=True)
    spent = time.monotonic() - started
    print(
        f"{given.rounds} rounds in {spent:.0f} s; killed {rounds.kills}; recovered"
        f" {rounds.partial}; {rounds.platform.starts} server starts; nothing lost"
    )


if __name__ == "__main__":
    main()
