"""A progress bar on the terminal: files, bytes, rate, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from acai.cli.command import Invocation
from acai.client.transfer.values import OnProgress, Progress


@contextmanager
def progress_bar(invocation: Invocation, doing: str) -> Iterator[OnProgress | None]:
    """What to call with each step; None where no bar is wanted, so that nobody counts."""
    if invocation.json or invocation.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn(doing),
        TextColumn("{task.fields[files]}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(doing, total=None, files="")

    def show(seen: Progress) -> None:
        total = "" if seen.total_files is None else f" of {seen.total_files:,}"
        bar.update(
            task,
            completed=seen.bytes,
            total=seen.total_bytes,
            files=f"{seen.files:,}{total} files",
        )

    with bar:
        yield show
