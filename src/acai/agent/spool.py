"""What is to be told, kept on disk until the server has it: the log, and a journal of the rest.

One thread appends, another reads. Memory holds neither, however long the server is away.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from acai.model.assignments import PrintedTag, Sample, TagTarget

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class LogSpool:
    """The program's output, byte by byte as it came."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, _FLAGS | os.O_TRUNC, 0o600)
        self.size = 0
        self.lost = 0  # bytes for which the disk had no room

    def append(self, data: bytes) -> None:
        """Never raises: a full disk must not stall the program."""
        view = memoryview(data)
        while view:
            try:
                written = os.pwrite(self._descriptor, view, self.size)
            except OSError:
                self.lost += len(view)
                return
            self.size += written
            view = view[written:]

    def read(self, start: int, most: int) -> bytes:
        return os.pread(self._descriptor, min(most, max(self.size - start, 0)), start)

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Records in the order they were made; `end` is where the next batch begins."""

    samples: tuple[Sample, ...] = ()
    tags: tuple[PrintedTag, ...] = ()
    end: int = 0


class Journal:
    """Samples and tags. Its file is made with the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size = 0
        self._told = 0

    @property
    def pending(self) -> bool:
        return self._told < self._size

    def add_sample(self, sample: Sample) -> None:
        self._append([["s", sample.time.isoformat(), sample.cpu_seconds, sample.memory]])

    def add_tags(self, tags: Iterable[PrintedTag]) -> None:
        self._append(
            [["t", tag.time.isoformat(), tag.n, tag.target, tag.key, tag.value] for tag in tags]
        )

    def _append(self, records: Sequence[Sequence[Any]]) -> None:
        data = "".join(json.dumps(record) + "\n" for record in records).encode()
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, _FLAGS | os.O_TRUNC, 0o600)
            written = os.pwrite(self._descriptor, data, self._size)
        except OSError:
            return  # no room: the log has the tags, and samples come again
        if written == len(data):
            self._size += written

    def batch(self, most: int) -> Batch:
        """What has not been told yet, up to `most` bytes of it."""
        if self._descriptor is None or not self.pending:
            return Batch(end=self._told)
        data = os.pread(self._descriptor, min(most, self._size - self._told), self._told)
        data = data[: data.rindex(b"\n") + 1]
        records = [json.loads(line) for line in data.splitlines()]
        return Batch(
            samples=tuple(_sample(*record[1:]) for record in records if record[0] == "s"),
            tags=tuple(_tag(*record[1:]) for record in records if record[0] == "t"),
            end=self._told + len(data),
        )

    def settle(self, batch: Batch) -> None:
        """The server has it."""
        self._told = batch.end

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _sample(time: str, cpu_seconds: float, memory: int) -> Sample:
    return Sample(time=datetime.fromisoformat(time), cpu_seconds=cpu_seconds, memory=memory)


def _tag(time: str, n: int, target: str, key: str, value: float | str) -> PrintedTag:
    moment = datetime.fromisoformat(time)
    return PrintedTag(n=n, target=TagTarget(target), key=key, value=value, time=moment)
