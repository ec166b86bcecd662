"""What happens to a project's jobs, as it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from acai.model.ids import ProjectId
from acai.stores.records import job_changes as records
from acai.stores.records.database import Database
from acai.stores.records.job_changes import JobChange

# A change is stamped before it is committed, perhaps by another server with another clock, so
# that it may appear behind one that was seen already. We look back by more than that.
_OVERLAP = timedelta(seconds=5)
_PAGE = 500


class Changes:
    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    def follow(self, project: ProjectId, since: datetime | None = None) -> ChangeFollower:
        """The changes from now on, or those after `since` and a few seconds before it."""
        follower = ChangeFollower(self._database, project, since or self._clock())
        if since is None:
            while follower.look().more:
                pass
        return follower


@dataclass(frozen=True, kw_only=True)
class SomeChanges:
    changes: tuple[JobChange, ...]
    more: bool  # there may be others already


class ChangeFollower:
    """Hands out every change once; one from before `since` may have been handed out before."""

    def __init__(self, database: Database, project: ProjectId, since: datetime) -> None:
        self._database = database
        self._project = project
        self.place = since
        self._page: records.Place | None = None
        self._seen: dict[tuple[int, int], datetime] = {}

    def look(self) -> SomeChanges:
        begin = self._page or (self.place - _OVERLAP, 0, 0)
        with self._database.read(self._project) as tx:
            found = records.after(tx, begin, limit=_PAGE)
        new = tuple(each for each in found if (each.job, each.n) not in self._seen)
        self._seen.update(((each.job, each.n), each.time) for each in new)
        more = len(found) == _PAGE
        if found:
            final = found[-1]
            self.place = max(self.place, final.time)
            self._page = (final.time, final.job, final.n)
        if not more:
            self._page = None
            self._forget()
        return SomeChanges(changes=new, more=more)

    def _forget(self) -> None:
        """Drop what no look will come upon again."""
        before = self.place - _OVERLAP
        if any(time < before for time in self._seen.values()):
            self._seen = {key: time for key, time in self._seen.items() if time >= before}
