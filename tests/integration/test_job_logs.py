"""What jobs print is kept in order and whole, whatever is sent twice, late, or all at once."""

from __future__ import annotations

import gzip
import random
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from acai.engine import logs as logs_module
from acai.engine.hints import Hints
from acai.engine.log_reading import Complete, Printed, Retried
from acai.engine.logs import MOST, Logs
from acai.identity.service import Identity, utc_now
from acai.lake.sweeper import Sweeper
from acai.model.errors import CorruptData, InvalidInput, JobNotFound, Unavailable
from acai.model.ids import public_id
from acai.stores.objects.base import MIB
from acai.stores.objects.local import LocalStore
from acai.stores.records.database import PLATFORM, Database
from acai.stores.records.tables_jobs import job_logs, jobs
from servers.set_lake import HOUR, shared_database  # noqa: F401  a fixture


class Moody(LocalStore):
    """A store that refuses to store when told to."""

    away = False

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        if self.away:
            raise Unavailable("the store is away")
        super().put(key, data)


class Press:
    """A project with a job that prints."""

    def __init__(self, database: Database, root: Path) -> None:
        identity = Identity(database, failure_limit=100)
        project = identity.create_project(public_id("ours"), "ann")
        other = identity.create_project(public_id("theirs"), "eve")
        self.database = database
        self.ann = identity.authenticate(project.admin.token, "here", None)
        self.eve = identity.authenticate(other.admin.token, "here", None)
        self.project = self.ann.project
        self.store = Moody(root, sign_secret=b"secret", durable=False)
        self.logs = Logs(database, self.store, Hints(), utc_now)
        self.name = public_id("job")
        with database.write(PLATFORM) as tx:
            self.job: int = tx.execute(
                insert(jobs)
                .values(
                    project_id=self.project,
                    public_id=self.name,
                    user_id=self.ann.user_id,
                    status="running",
                    command="true",
                    submitted_at=utc_now(),
                    attempt=1,
                )
                .returning(jobs.c.id)
            ).scalar_one()

    def now(self, status: str, attempt: int = 1) -> None:
        with self.database.write(PLATFORM) as tx:
            changed = update(jobs).where(jobs.c.id == self.job)
            tx.execute(changed.values(status=status, attempt=attempt))

    def send(self, start: int, data: bytes, attempt: int = 1) -> int:
        answer = self.logs.append(self.project, self.job, attempt=attempt, start=start, data=data)
        assert not answer.stop
        return answer.size

    def print(self, data: bytes, attempt: int = 1, most: int = MOST) -> None:
        size = self.send(0, b"", attempt)
        for at in range(0, len(data), most):
            size = self.send(size, data[at : at + most], attempt)

    def read(self, start: int = 0, end: int | None = None, attempt: int | None = None) -> bytes:
        pieces = self.logs.read(self.project, self.name, attempt=attempt, start=start, end=end)
        return b"".join(pieces)

    def rows(self) -> list[tuple[int, int, int, str | None]]:
        """Start, size, lines and object of each stretch, without gaps."""
        statement = select(job_logs).where(job_logs.c.job_id == self.job)
        with self.database.read(PLATFORM) as tx:
            found = list(tx.execute(statement.order_by(job_logs.c.attempt, job_logs.c.start)))
        ends: dict[int, int] = {}
        for row in found:
            assert row.start == ends.get(row.attempt, 0)
            assert (row.data is None) is (row.object_key is not None)
            ends[row.attempt] = row.start + row.size
        return [(row.start, row.size, row.lines, row.object_key) for row in found]

    def stored(self) -> set[str]:
        return {each.key for each in self.store.list(f"{self.project}/logs/{self.name}/")}

    def log_size(self) -> int:
        return self.logs.head(self.project, self.name).size


@pytest.fixture
def press(shared_database: Database, tmp_path: Path) -> Press:  # noqa: F811
    return Press(shared_database, tmp_path / "objects")


@pytest.fixture
def small_rolls(monkeypatch: pytest.MonkeyPatch) -> int:
    """Logs roll long before they are as large as in life."""
    monkeypatch.setattr(logs_module, "_ROLL", 200_000)
    return 200_000


def lines(size: int, seed: int = 1) -> bytes:
    """Lines of many lengths, some empty, some long, in as many bytes."""
    rng = random.Random(seed)
    text = bytearray()
    while len(text) < size:
        words = rng.choice((0, 3, 12, 12, 40, 900))
        text += b" ".join(b"%d" % rng.randrange(10**6) for _ in range(words)) + b"\n"
    return bytes(text[:size])


def test_what_is_sent_in_any_pieces_twice_and_too_early_is_kept_once_and_in_order(
    press: Press,
) -> None:
    data = lines(300_000)
    rng = random.Random(7)
    size = 0
    while size < len(data):
        start = max(0, size + rng.choice((0, 0, 0, -1, -500, -70_000, 1, 5_000)))
        end = min(len(data), start + rng.choice((0, 1, 30, 2_000, 20_000, 100_000)))
        grown = press.send(start, data[start:end])
        assert grown == (max(size, end) if start <= size else size)
        size = grown
    assert press.read() == data
    assert press.log_size() == len(data)
    for start, end in ((0, 1), (65_535, 65_537), (123_456, 234_567), (299_999, None), (10**9, 5)):
        assert press.read(start, end) == data[start:end]


def test_many_short_prints_make_few_rows(press: Press) -> None:
    for n in range(1, 301):
        press.send(100 * (n - 1), b"%099d\n" % n)
    rows = press.rows()
    assert len(rows) <= 3
    assert sum(row[2] for row in rows) == 300
    assert press.read() == b"".join(b"%099d\n" % n for n in range(1, 301))


def test_binary_junk_and_half_lines_are_kept_as_they_are(press: Press, small_rolls: int) -> None:
    junk = random.Random(3).randbytes(700_000) + b"\0\r\xff no end"
    press.print(junk, most=70_001)
    assert press.read() == junk
    press.now("failed")
    press.logs.archive(press.project, press.job)
    assert press.read() == junk
    assert press.read(654_321) == junk[654_321:]


def test_a_long_log_rolls_into_objects_as_it_grows(press: Press, small_rolls: int) -> None:
    data = lines(3 * MIB + 12_345)
    press.print(data, most=100_000)
    rows = press.rows()
    rolled = [row for row in rows if row[3] is not None]
    assert len(rolled) >= 10
    assert sum(size for _, size, _, key in rows if key is None) < small_rolls + MIB
    assert press.stored() == {key for _, _, _, key in rolled}
    for start, size, count, key in rolled:
        assert key is not None
        unpacked = gzip.decompress(b"".join(press.store.get(key)))
        assert unpacked == data[start : start + size]
        assert unpacked.count(b"\n") == count
    assert press.read() == data
    assert press.read(1_234_567, 2_345_678) == data[1_234_567:2_345_678]


def test_after_the_end_all_of_it_is_in_the_store_and_nothing_else(
    press: Press, small_rolls: int
) -> None:
    first, second = lines(500_000, 1), lines(30_000, 2)
    press.print(first, most=100_000)
    press.now("queued")
    assert press.logs.archive(press.project, press.job) == 3
    press.now("running", attempt=2)
    press.print(second, attempt=2)
    orphan = f"{press.project}/logs/{press.name}/1/0-7.gz"
    press.store.put(orphan, b"left by a crash")
    assert press.logs.archive(press.project, press.job) == 0
    press.now("finished", attempt=2)
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(press.logs.archive, [press.project] * 4, [press.job] * 4)
        assert sum(made) == 1
    assert all(key is not None for *_, key in press.rows())
    assert press.stored() == {key for *_, key in press.rows()}
    sweeper = Sweeper(press.database, press.store, lifetime=HOUR, url_lifetime=HOUR, clock=utc_now)
    sweeper.sweep()
    assert press.read() == press.read(attempt=2) == second
    assert press.read(attempt=1) == first
    assert press.logs.archive(press.project, press.job) == 0


def test_a_job_that_printed_nothing_leaves_nothing(press: Press) -> None:
    press.now("finished")
    assert press.logs.archive(press.project, press.job) == 0
    assert press.read() == b""
    assert press.stored() == set()


def test_a_store_that_is_away_stops_no_job(press: Press, small_rolls: int) -> None:
    data = lines(2_500_000)
    press.store.away = True
    press.print(data[:1_500_000])
    assert press.stored() == set()
    press.store.away = False
    press.print(data[1_500_000:])
    assert len(press.stored()) >= 5
    assert press.read() == data


def test_what_the_store_has_lost_or_changed_is_said_so(press: Press) -> None:
    press.print(lines(100_000))
    press.now("finished")
    press.logs.archive(press.project, press.job)
    (key,) = press.stored()
    whole = b"".join(press.store.get(key))
    for damaged in (whole[: len(whole) // 2], b"not gzip", b""):
        press.store.put(key, damaged)
        with pytest.raises(CorruptData, match="log"):
            press.read()
    press.store.delete([key])
    with pytest.raises(CorruptData, match="log"):
        press.read()


@pytest.mark.parametrize("text", [lines(900_000), lines(500_000) + b"half", b"\n" * 70_000, b"x"])
def test_the_tail_begins_where_the_last_lines_do(
    press: Press, small_rolls: int, text: bytes
) -> None:
    press.print(text, most=90_000)
    whole = text.splitlines(keepends=True)

    def check() -> None:
        for count in (0, 1, 2, 10, 500, len(whole) - 1, len(whole), len(whole) + 5):
            head = press.logs.head(press.project, press.name)
            start = press.logs.tail(press.project, head, 1, count)
            assert text[start:] == b"".join(whole[len(whole) - min(count, len(whole)) :]), count

    # Only "\n" ends a line here.
    assert b"\r" not in text
    check()
    press.now("finished")
    press.logs.archive(press.project, press.job)
    check()


def test_an_attempt_that_is_over_may_print_no_more(press: Press) -> None:
    press.print(b"mine\n")
    for status, attempt in (("running", 2), ("queued", 1), ("finished", 1), ("lost", 1)):
        press.now(status, attempt)
        answer = press.logs.append(press.project, press.job, attempt=1, start=5, data=b"late")
        assert answer.stop
        assert answer.size == 5
    press.now("uploading")
    assert press.send(5, b"last\n") == 10


def test_another_projects_log_cannot_be_read_or_written(press: Press) -> None:
    press.print(b"secret\n")
    assert press.logs.append(press.eve.project, press.job, attempt=1, start=7, data=b"x").stop
    with pytest.raises(JobNotFound):
        press.logs.read(press.eve.project, press.name)
    assert press.logs.archive(press.eve.project, press.job) == 0
    assert press.read() == b"secret\n"


def test_there_is_no_attempt_that_was_not_made(press: Press) -> None:
    for attempt in (0, 2):
        with pytest.raises(InvalidInput, match=f"no attempt {attempt}"):
            press.read(attempt=attempt)
    with pytest.raises(InvalidInput):
        press.send(0, b"x" * (MOST + 1))


def test_senders_that_race_add_nothing_twice(press: Press, small_rolls: int) -> None:
    data = lines(1_500_000)
    barrier = threading.Barrier(4)

    def send(seed: int) -> None:
        rng = random.Random(seed)
        barrier.wait()
        size = 0
        while size < len(data):
            size = press.send(size, data[size : size + rng.choice((500, 60_000, 300_000))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    press.rows()
    assert press.read() == data
    press.now("finished")
    press.logs.archive(press.project, press.job)
    assert press.read() == data
    assert press.stored() == {key for *_, key in press.rows()}


def _followed(press: Press, **place: int) -> Iterator[Printed | Retried | Complete | None]:
    head = press.logs.head(press.project, press.name)
    follower = press.logs.follow(press.project, head, **place)  # type: ignore[arg-type]
    while True:
        yield follower.look()


def test_a_follower_gets_everything_through_all_attempts(press: Press) -> None:
    press.now("queued", 0)
    every = _followed(press)
    assert next(every) is None
    press.now("launching", 1)
    assert next(every) is None
    press.print(b"one\n")
    assert next(every) == Printed(attempt=1, start=0, data=b"one\n")
    press.print(b"two\n")
    press.now("queued", 1)
    assert next(every) == Printed(attempt=1, start=4, data=b"two\n")
    assert next(every) is None
    press.now("running", 2)
    only = _followed(press, attempt=1, only=True)
    assert next(only) == Printed(attempt=1, start=0, data=b"one\ntwo\n")
    assert isinstance(next(only), Complete)
    assert next(every) == Retried(attempt=2)
    press.print(b"again\n", attempt=2)
    press.now("finished", 2)
    assert next(every) == Printed(attempt=2, start=0, data=b"again\n")
    assert next(every) == Complete(status="finished")
    late = _followed(press, attempt=1, start=4)
    assert next(late) == Printed(attempt=1, start=4, data=b"two\n")
    assert next(late) == Retried(attempt=2)


@contextmanager
def measured() -> Iterator[Callable[[], int]]:
    """Bytes of Python's memory at most, above those at the start."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_burst_of_100_megabytes_takes_a_few_of_memory(press: Press) -> None:
    block = b"".join(b"epoch %d loss=%.4f\n" % (n, 9 / (n + 9)) for n in range(60_000))[:MIB]
    assert len(block) == MIB
    count = 100
    press.send(0, b"")
    with measured() as peak:
        for n in range(count):
            press.send(n * MIB, block)
        total = 0
        for piece in press.logs.read(press.project, press.name):
            at = total % MIB
            assert piece == (block + block)[at : at + len(piece)]
            total += len(piece)
        press.now("finished")
        press.logs.archive(press.project, press.job)
        most = peak()
    print(f"{count} MiB took {most:,} bytes of memory")
    assert total == press.log_size() == count * MIB
    assert most < 10 * MIB
    assert all(key is not None for *_, key in press.rows())
