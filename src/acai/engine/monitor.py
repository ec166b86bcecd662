"""The monitor: compares what the database believes with what the launcher sees.

It runs at start-up and then every few seconds. Agents report by themselves; the monitor is for
those that cannot: an agent that was killed, a machine that went away, a server that died between
a transition and what was to follow from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from acai.engine.lifecycle import Vanished
from acai.engine.transitions import apply
from acai.launchers.base import Launcher, Seen, Sighting
from acai.model.errors import AcaiError
from acai.model.ids import ProjectId
from acai.stores.records import job_queue
from acai.stores.records import jobs as records
from acai.stores.records.database import PLATFORM, Database
from acai.stores.records.job_queue import ActiveRow, OverRow

log = logging.getLogger("acai.monitor")

_SETTLED_AT_ONCE = 200


class Monitor:
    def __init__(
        self,
        database: Database,
        launcher: Launcher,
        *,
        lease: timedelta,
        archive: Callable[[ProjectId, int], object],
        clock: Callable[[], datetime],
        changed: Callable[[ProjectId, int], None],
        wake: Callable[[], None],
    ) -> None:
        """`lease`: how long an agent may be silent while its launcher knows nothing of it.
        `archive` is told a project and a job whose log is complete."""
        self._database = database
        self._launcher = launcher
        self._lease = lease
        self._archive = archive
        self._clock = clock
        self._changed = changed
        self._wake = wake
        self._since = clock()
        self._strays: dict[str, datetime] = {}

    def act(self) -> None:
        self.watch()
        self.settle()

    def watch(self) -> None:
        """Mark what has vanished, and repeat what was asked of the launcher."""
        with self._database.read(PLATFORM) as tx:
            active = job_queue.active(tx)
        if not active:
            return
        seen = self._launcher.describe([row.handle for row in active])
        to_kill = [
            row.handle
            for row in active
            if row.kill_requested_at is not None and seen[row.handle].sighting is Sighting.ALIVE
        ]
        if to_kill:
            self._launcher.kill(to_kill)
        for row in active:
            reason = self._vanished(row, seen[row.handle])
            if reason is not None:
                self._lose(row, reason)

    def _vanished(self, row: ActiveRow, seen: Seen) -> str | None:
        """Why a job is to be given up, or None.

        A launcher that sees nothing of an attempt may have lost sight of it, so its agent's
        silence is waited for; but not while this server itself was away, for then nobody could
        have been heard.
        """
        now = self._clock()
        if seen.sighting is Sighting.GONE:
            # Its last report may be on its way, or being dealt with, at this moment.
            if row.seen_at is not None and now - row.seen_at < _LAST_WORD:
                return None
            return seen.reason or "its agent ended without a report"
        if seen.sighting is Sighting.ALIVE:
            return None
        heard = max(row.seen_at or self._since, self._since)
        if now - heard < self._lease:
            return None
        if seen.sighting is Sighting.STARTING:
            return "its agent did not start in time"
        return "the server stopped before its agent was started, or its machine vanished"

    def _lose(self, row: ActiveRow, reason: str) -> None:
        event = Vanished(attempt=row.attempt, reason=reason)
        with self._database.write(row.project) as tx:
            current = records.get(tx, row.id, lock=True)
            done = apply(tx, current, event, self._clock())
        if done is not None:
            log.warning(
                "a job vanished",
                extra={"job": row.public_id, "status": done.state.value, "why": reason},
            )
            self._launcher.kill([row.handle])
            self._changed(row.project, row.id)
            self._wake()

    def settle(self) -> None:
        """Tidy up after jobs that have ended: the log into the store, the launcher forgets."""
        # In this order: what the launcher knows has been launched, so the database knows it.
        known = self._launcher.handles()
        with self._database.read(PLATFORM) as tx:
            over = job_queue.unsettled(tx, limit=_SETTLED_AT_ONCE)
            busy = {row.handle for row in job_queue.active(tx)}
        done = [row.id for row in over if self._archived(row)]
        if done:
            with self._database.write(PLATFORM) as tx:
                job_queue.settle(tx, done)
        self._forget([handle for handle in known if handle not in busy])

    def _archived(self, row: OverRow) -> bool:
        """Whether the log of an ended job is in the store; one that is away is tried again."""
        try:
            if row.attempt > 0:
                self._archive(row.project, row.id)
        except AcaiError as error:
            log.warning("a log waits", extra={"job": row.public_id, "why": error.message})
            return False
        return True

    def _forget(self, over: Sequence[str]) -> None:
        """Let the launcher drop attempts that nobody waits for. An agent that is still there
        tidies up after itself; one that does not come to an end is ended."""
        now = self._clock()
        self._strays = {handle: self._strays.get(handle, now) for handle in over}
        if not over:
            return
        seen = self._launcher.describe(over)
        self._launcher.forget([one for one in over if seen[one].sighting is Sighting.GONE])
        self._launcher.kill(
            [
                one
                for one in over
                if seen[one].sighting is Sighting.ALIVE and now - self._strays[one] > _TIDYING
            ]
        )


_TIDYING = timedelta(seconds=30)
_LAST_WORD = timedelta(seconds=3)
