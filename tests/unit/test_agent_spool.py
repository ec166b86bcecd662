"""What is to be told stays on disk, in order, until it has been."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from acai.agent.spool import Journal, LogSpool
from acai.model.assignments import PrintedTag, Sample, TagTarget

NOW = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_the_log_is_read_from_anywhere(tmp_path: Path) -> None:
    log = LogSpool(tmp_path / "log")
    log.append(b"one")
    log.append(b"\0two")
    assert log.size == 7
    assert log.read(0, 100) == b"one\0two"
    assert log.read(2, 3) == b"e\0t"
    assert log.read(7, 3) == b"" and log.read(9, 3) == b""
    log.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_loses_bytes_and_says_how_many() -> None:
    log = LogSpool(Path("/dev/full"))
    log.append(b"lost")
    assert (log.size, log.lost) == (0, 4)
    log.close()


def test_the_journal_gives_back_what_it_got_in_batches(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    assert not journal.pending and not (tmp_path / "journal").exists()
    tags = [
        PrintedTag(n=n, target=TagTarget.OUTPUT, key="k", value=f"väl\n{n}", time=NOW)
        for n in range(1, 200)
    ]
    sample = Sample(time=NOW + timedelta(seconds=1), cpu_seconds=0.25, memory=1024)
    journal.add_tags(tags)
    journal.add_sample(sample)
    seen: list[PrintedTag] = []
    samples: list[Sample] = []
    rounds = 0
    while journal.pending:
        batch = journal.batch(1000)
        again = journal.batch(1000)
        assert again == batch  # not told yet
        journal.settle(batch)
        seen += batch.tags
        samples += batch.samples
        rounds += 1
    assert seen == tags and samples == [sample]
    assert 10 < rounds < 40
    journal.close()
    assert os.stat(tmp_path / "journal").st_mode & 0o077 == 0
