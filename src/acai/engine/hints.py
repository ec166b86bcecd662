"""Hints that something may have changed: reasons to look into the database, and nothing more.

A hint carries no news, only a topic such as `job:17`, `log:17` or `project:3`. Who watches looks
first, then waits for a hint, and looks again after a while even without one: when every hint is
lost, things are late by that while, and nothing is missed.

Of what cannot be asked for at a price that fits, a topic such as `news:3` carries words: they
say what to read again, are kept for every watcher until its next look, however many times they
came, and wake nobody.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

from acai.model.changes import ANYTHING
from acai.model.errors import AcaiError
from acai.model.ids import ProjectId, random_word
from acai.stores.records.database import Database
from acai.stores.records.notices import Notices

log = logging.getLogger("acai.hints")
_NEWS = "news:"
_GATHER = 0.02  # seconds in which hints to other servers are gathered into one message
_PATIENCE = 2.0  # seconds before a lost connection is tried again
_FAREWELL = 2.0  # seconds in which the threads come to an end; one that looks takes half a second


def job_topic(job: int) -> str:
    return f"job:{job}"


def log_topic(job: int) -> str:
    return f"log:{job}"


def project_topic(project: ProjectId) -> str:
    return f"project:{project}"


def news_topic(project: ProjectId) -> str:
    return f"{_NEWS}{project}"


class Hints:
    """Thread-safe. On PostgreSQL the hints reach all servers of the database.

    Nothing is connected before someone watches, and nothing is sent before someone publishes.
    """

    def __init__(self, database: Database | None = None) -> None:
        self._lock = threading.Lock()
        self._watches: dict[str, set[Watch]] = {}
        self._closed = False
        self._carrier: _Carrier | None = None
        if database is not None and database.dialect == "postgresql":
            self._carrier = _Carrier(Notices(database), self._hear, self._missed)

    @property
    def closed(self) -> bool:
        """Whether the server is going away: who streams to somebody should come to an end."""
        return self._closed

    def publish(self, *topics: str) -> None:
        """Wake whoever watches one of the topics. Call it after the commit. Never blocks."""
        self._wake(topics)
        if self._carrier is not None and not self._closed:
            self._carrier.send(topics)

    def note(self, topic: str, word: str) -> None:
        """Keep a word for whoever watches the topic. Call it after the commit. Never blocks."""
        self._keep(topic, word)
        if self._carrier is not None and not self._closed:
            self._carrier.send((f"{topic} {word}",))

    def watch(self, *topics: str) -> Watch:
        """Begin to watch, from within an event loop; use it as a context manager."""
        watch = Watch(self, topics)
        with self._lock:
            for topic in topics:
                self._watches.setdefault(topic, set()).add(watch)
        if self._carrier is not None and not self._closed:
            self._carrier.listen()
        if self._closed:
            watch.hint()
        return watch

    def close(self) -> None:
        """Wake everybody for good, and let go of the database. Can be repeated."""
        with self._lock:
            self._closed = True
            everybody = [watch for watches in self._watches.values() for watch in watches]
        for watch in everybody:
            watch.hint()
        if self._carrier is not None:
            self._carrier.close()

    def _wake(self, topics: Iterable[str]) -> None:
        if not self._watches:
            return
        with self._lock:
            woken = {watch for topic in topics for watch in self._watches.get(topic, ())}
        for watch in woken:
            watch.hint()

    def _keep(self, topic: str, word: str) -> None:
        if topic in self._watches:
            with self._lock:
                for watch in self._watches.get(topic, ()):
                    watch.words.add(word)

    def _hear(self, message: str) -> None:
        topic, _, word = message.partition(" ")
        if word:
            self._keep(topic, word)
        else:
            self._wake((topic,))

    def _missed(self) -> None:
        with self._lock:
            topics = [topic for topic in self._watches if topic.startswith(_NEWS)]
        for topic in topics:
            self._keep(topic, ANYTHING)

    def _take(self, watch: Watch) -> set[str]:
        with self._lock:
            words, watch.words = watch.words, set()
        return words

    def _forget(self, watch: Watch) -> None:
        with self._lock:
            for topic in watch.topics:
                watches = self._watches.get(topic)
                if watches is not None:
                    watches.discard(watch)
                    if not watches:
                        del self._watches[topic]


class Watch:
    """One watcher's place. Hints that come while it is busy are kept, as one."""

    def __init__(self, hints: Hints, topics: tuple[str, ...]) -> None:
        self.topics = topics
        self.words: set[str] = set()
        self._hints = hints
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._due = False

    async def wait(self, timeout: float) -> bool:
        """Until a hint has come since the last wait, or `timeout` seconds have passed."""
        if self._hints.closed:
            return True
        try:
            await asyncio.wait_for(self._event.wait(), timeout)
        except TimeoutError:
            return False
        # A hint between these lines and the look that follows is answered by that look.
        self._event.clear()
        self._due = False
        return True

    def taken(self) -> set[str]:
        """The words that came since they were taken last."""
        return self._hints._take(self)

    def hint(self) -> None:
        """From any thread."""
        if self._due and not self._hints.closed:
            return
        self._due = True
        with suppress(RuntimeError):  # its loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._event.set)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hints._forget(self)


class _Carrier:
    """Takes hints to the other servers and brings theirs, in two threads of its own."""

    def __init__(
        self, notices: Notices, hear: Callable[[str], None], missed: Callable[[], None]
    ) -> None:
        self._notices = notices
        self._hear = hear
        self._missed = missed
        self._origin = random_word(8)
        self._lock = threading.Lock()
        self._leaving: set[str] = set()
        self._any_leaving = threading.Event()
        self._stopping = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    def send(self, messages: Iterable[str]) -> None:
        with self._lock:
            self._leaving.update(messages)
        self._any_leaving.set()
        self._run("acai-hints-out", self._send)

    def listen(self) -> None:
        self._run("acai-hints-in", self._listen)

    def close(self) -> None:
        self._stopping.set()
        self._any_leaving.set()
        for thread in self._threads.values():
            thread.join(timeout=_FAREWELL)

    def _run(self, name: str, act: Callable[[], None]) -> None:
        if name in self._threads:
            return
        with self._lock:
            if name not in self._threads and not self._stopping.is_set():
                thread = threading.Thread(target=act, name=name, daemon=True)
                thread.start()
                self._threads[name] = thread

    def _send(self) -> None:
        while self._any_leaving.wait() and not self._stopping.is_set():
            self._any_leaving.clear()
            with self._lock:
                messages, self._leaving = self._leaving, set()
            try:
                self._notices.send([f"{self._origin} {message}" for message in messages])
            except AcaiError as error:
                log.debug("hints were not sent", extra={"reason": error.message})
            self._stopping.wait(_GATHER)

    def _listen(self) -> None:
        deaf = False
        while not self._stopping.is_set():
            try:
                for notice in self._notices.listen(self._stopping):
                    origin, _, message = notice.partition(" ")
                    if not origin and deaf:
                        self._missed()
                    elif message and origin != self._origin:
                        self._hear(message)
            except AcaiError as error:
                deaf = True
                log.debug("no hints from other servers", extra={"reason": error.message})
                self._stopping.wait(_PATIENCE)
