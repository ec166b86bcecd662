"""Threads that do not keep a process alive: an interrupted transfer must end at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Stopped(Exception):
    """The transfer was given up; nothing is wrong with what this thread was doing."""


class Workers:
    """A few threads that take tasks in order. Leaving the block drops what has not begun."""

    def __init__(self, name: str, count: int) -> None:
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"acai-{name}-{number}", daemon=True)
            for number in range(count)
        ]
        self._closed = False

    def submit(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put((future, lambda: act(*args, **kwargs)))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, act = task
            if self._closed or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            try:
                future.set_result(act())
            except BaseException as error:
                future.set_exception(error)
            del task, future, act  # a waiting thread must not hold the bytes of its last task

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = error is not None
        for _ in self._threads:
            self._tasks.put(None)
        if error is None:
            for thread in self._threads:
                thread.join()
