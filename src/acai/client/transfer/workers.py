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
    """Up to `count` threads that take tasks in order; each is started when it is needed.

    Leaving the block waits for all tasks; leaving it by an error drops what has not begun.
    Tasks are submitted by one thread, or by the tasks themselves.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._count = count
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._free = 0
        self._closed = False

    def submit(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
            elif len(self._threads) < self._count:
                name = f"acai-{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._free -= 1  # owed to the next thread that ends a task
        self._tasks.put((future, lambda: act(*args, **kwargs)))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, act = task
            if not self._closed and future.set_running_or_notify_cancel():
                try:
                    future.set_result(act())
                except BaseException as error:
                    future.set_exception(error)
            else:
                future.cancel()
            del task, future, act  # a waiting thread must not hold the bytes of its last task
            with self._lock:
                self._free += 1

    def __enter__(self) -> Self:
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
