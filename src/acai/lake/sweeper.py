"""Sweep what upload sessions leave behind: expired sessions, and bytes that nothing refers to."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from acai.stores.objects.base import Multipart, SigningStore
from acai.stores.records import sweeping
from acai.stores.records.database import PLATFORM, Database

log = logging.getLogger("acai.sweeper")
_AT_ONCE = 100
_JUMP = 60.0  # seconds by which the wall clock may drift from our own between two rounds


@runtime_checkable
class LeavesTemporaries(Protocol):
    """A store whose writers leave unfinished files when they die."""

    def sweep_temporary(self, older_than: timedelta) -> int: ...


class Sweeper:
    """Safe to run at any time, on several servers at once, and to kill at any moment.

    Bytes are deleted before the rows that name them, and only when no URL that was signed
    for them can still be good: what arrives late is never left behind.
    """

    def __init__(
        self,
        database: Database,
        store: SigningStore,
        *,
        lifetime: timedelta,
        url_lifetime: timedelta,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._store = store
        self._lifetime = lifetime
        self._url_lifetime = url_lifetime
        self._clock = clock
        self._monotonic = monotonic
        self._watching_since = monotonic()
        self._offset = clock().timestamp() - monotonic()

    def sweep(self) -> int:
        """One round; returns how many sessions were cleaned up."""
        self._expire()
        done = 0
        while batch := self._ended():
            for upload in batch:
                self._clean(upload)
                done += 1
        self._sweep_leftovers()
        if done:
            log.info("swept upload sessions", extra={"sessions": done})
        return done

    def _expire(self) -> None:
        """End idle sessions, but not because the clock jumped.

        A clock set ahead makes every session look abandoned. So nothing expires before this
        process has watched a steady clock for an idle lifetime, or an hour if that is shorter.
        """
        offset = self._clock().timestamp() - self._monotonic()
        if abs(offset - self._offset) > _JUMP:
            log.warning("the clock jumped", extra={"seconds": round(offset - self._offset)})
            self._watching_since = self._monotonic()
        self._offset = offset
        watched = timedelta(seconds=self._monotonic() - self._watching_since)
        if watched < min(self._lifetime, timedelta(hours=1)):
            return
        now = self._clock()
        with self._database.write(PLATFORM) as tx:
            count = sweeping.expire(tx, idle_since=now - self._lifetime, now=now)
        if count:
            log.info("expired idle upload sessions", extra={"sessions": count})

    def _ended(self) -> list[sweeping.EndedUpload]:
        with self._database.read(PLATFORM) as tx:
            return sweeping.ended(tx, before=self._clock() - self._url_lifetime, limit=_AT_ONCE)

    def _clean(self, upload: sweeping.EndedUpload) -> None:
        with self._database.read(upload.project) as tx:
            gone = sweeping.orphans(tx, upload.id)
        for one in gone:
            if one.multipart_id is not None and isinstance(self._store, Multipart):
                self._store.abort_multipart(one.key, one.multipart_id)
        self._store.delete(one.key for one in gone)
        with self._database.write(upload.project) as tx:
            sweeping.forget(tx, upload.id, gone, self._clock())

    def _sweep_leftovers(self) -> None:
        """Parts and temporary files of writers that died before any record named them."""
        age = self._lifetime + self._url_lifetime
        if isinstance(self._store, Multipart):
            for stale in self._store.stale_multiparts(started_before=self._clock() - age):
                self._store.abort_multipart(stale.key, stale.upload_id)
        if isinstance(self._store, LeavesTemporaries):
            self._store.sweep_temporary(age)
