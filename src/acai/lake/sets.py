"""Sets: make, list, show, compare, remove.

The order of commitment: chunks of the manifest, then, in one transaction, the record of the
version with its edges. A set is there with all of it, or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from acai.lake import tree
from acai.lake.combine import combine
from acai.lake.specs import Specs, find_set, resolved, root_of
from acai.model.changes import SETS, Tell, tell_nobody
from acai.model.errors import InvalidInput, Unavailable
from acai.model.identity import Principal
from acai.model.ids import ProjectId
from acai.model.references import SetRef, parse_set_reference, validate_set_name
from acai.model.sets import (
    ChangeKind,
    DiffSummary,
    FileChange,
    Prefer,
    ResolvedFile,
    SetTotals,
    SetVersion,
)
from acai.stores.records import chunks as chunk_records
from acai.stores.records import provenance as edge_records
from acai.stores.records import sets as records
from acai.stores.records.chunks import BuildChunks, Chunks, StagedChunkLost
from acai.stores.records.database import PLATFORM, Database, Transaction

MOST_SPECS = 10_000
_AT_ONCE = 4  # builds: each holds a connection with its snapshot, and at times a second
_ATTEMPTS = 20
_STAGED_FOR = timedelta(days=1)  # far longer than a build takes
_SWEPT_AT_ONCE = 2000


class _Outdated(Exception):
    """A newer version of the set that is being updated has come meanwhile."""


class Sets:
    def __init__(
        self,
        database: Database,
        specs: Specs,
        clock: Callable[[], datetime],
        tell: Tell = tell_nobody,
    ) -> None:
        self._database = database
        self._specs = specs
        self._clock = clock
        self._tell = tell
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def create(
        self, caller: Principal, name: str, specs: Sequence[str], prefer: Prefer | None = None
    ) -> SetVersion:
        """Make the next version of a set from these specs, with an edge from every source set.

        The specs are read as the lake is at one moment. Who updates a set from itself while
        another does the same builds on the other's version, not beside it.

        Raises PathConflict where sources disagree (see `acai.lake.combine`), and FileNotFound,
        SetNotFound or VersionNotFound for a spec that names nothing.
        """
        validate_set_name(name)
        if not specs:
            raise InvalidInput(f"set {name} would be empty; name files, directories or sets")
        if len(specs) > MOST_SPECS:
            raise InvalidInput(
                f"{len(specs)} specs in one call; name at most {MOST_SPECS}, or a directory"
            )
        with self._turns:
            for _ in range(_ATTEMPTS):
                try:
                    return self._create(caller, name, specs, prefer)
                except (_Outdated, StagedChunkLost):
                    continue
        raise Unavailable(f"others keep updating set {name}; try again")

    def _create(
        self, caller: Principal, name: str, specs: Sequence[str], prefer: Prefer | None
    ) -> SetVersion:
        now = self._clock()
        with self._database.read(caller.project) as snapshot:
            store = BuildChunks(self._database, caller.project, snapshot, self._clock)
            plan = self._specs.plan(snapshot, store, specs)
            root = combine(
                store,
                plan.sources,
                prefer_last=prefer is Prefer.LAST,
                latest=lambda paths: self._specs.latest(snapshot, paths),
            )
            new = records.NewVersion(
                root=root.id,
                content=root.content,
                file_count=root.file_count,
                size=root.size,
                first_path=path_at(store, root, 0),
                last_path=path_at(store, root, root.file_count - 1),
                user=caller.user_id,
                created_at=now,
            )
        with self._database.write(caller.project) as tx:
            chunk_records.lock(tx)
            if any(_moved(tx, ref, row) for ref, row in plan.followed if ref.name == name):
                raise _Outdated
            store.publish(tx)
            made = records.add_version(tx, name, new)
            edge_records.add(tx, made.id, [row.id for row in plan.origins], now)
        self._tell(caller.project, SETS)
        return made.value()

    def list(self, caller: Principal, *, after: str, limit: int) -> Sequence[SetVersion]:
        """The newest version of every set, by name."""
        with self._database.read(caller.project) as tx:
            return [row.value() for row in records.page(tx, after=after, limit=limit)]

    def versions(
        self, caller: Principal, name: str, *, before: int, limit: int
    ) -> Sequence[SetVersion]:
        """A set's versions, newest first, without the removed ones."""
        validate_set_name(name)
        with self._database.read(caller.project) as tx:
            found = records.versions(tx, name, before=before, limit=limit)
            if not found:
                find_set(tx, SetRef(name=name))
        return [row.value() for row in found]

    def find(self, caller: Principal, ref: SetRef) -> SetVersion:
        """One version, the newest by default; a removed one is still found by its number."""
        with self._database.read(caller.project) as tx:
            return find_set(tx, ref).value()

    def files(
        self, caller: Principal, ref: SetRef, *, prefix: str, after: str, limit: int
    ) -> tuple[int, Sequence[ResolvedFile]]:
        """The version's number, and its files whose path starts with `prefix`, by path."""
        with self._database.read(caller.project) as tx:
            row = find_set(tx, ref)
            stream = tree.iterate(
                Chunks(tx), root_of(row), prefix=prefix, after=after or None, limit=limit
            )
            return row.version, [resolved(path, entry) for path, entry in stream]

    def totals(self, caller: Principal, ref: SetRef, prefix: str) -> SetTotals:
        with self._database.read(caller.project) as tx:
            found = tree.totals(Chunks(tx), root_of(find_set(tx, ref)), prefix)
        return SetTotals(prefix=prefix, file_count=found.file_count, size=found.size)

    def diff(
        self, caller: Principal, before: str, after: str, *, beyond: str, limit: int
    ) -> Sequence[FileChange]:
        """The paths on which two sets differ, in order, from beyond a path."""
        with self._database.read(caller.project) as tx:
            old, new = _both(tx, before, after)
            changes = tree.diff(Chunks(tx), root_of(old), root_of(new), beyond=beyond or None)
            return [_change(one) for one in islice(changes, limit)]

    def diff_summary(self, caller: Principal, before: str, after: str) -> DiffSummary:
        with self._database.read(caller.project) as tx:
            old, new = _both(tx, before, after)
            counts = _count(tree.diff(Chunks(tx), root_of(old), root_of(new)))
        return DiffSummary(
            before=old.value(),
            after=new.value(),
            added=counts[ChangeKind.ADDED],
            removed=counts[ChangeKind.REMOVED],
            changed=counts[ChangeKind.CHANGED],
        )

    def remove(self, caller: Principal, ref: SetRef) -> Sequence[SetVersion]:
        """Take one version, or without a number all of them, out of listings.

        Nothing is lost: a removed version is still found by its number, provenance shows it,
        and the numbers go on where they were. Returns what was removed.
        """
        with self._database.write(caller.project) as tx:
            chunk_records.lock(tx)
            find_set(tx, ref)
            gone = records.hide(tx, ref.name, ref.version, self._clock())
        self._tell(caller.project, SETS)
        return [row.value() for row in gone]

    def sweep(self) -> int:
        """Drop the chunks of builds that died; returns how many. Safe to run at any time."""
        before = self._clock() - _STAGED_FOR
        with self._database.read(PLATFORM) as tx:
            projects = chunk_records.projects_with_staged(tx, before=before)
        return sum(self._sweep(project, before) for project in projects)

    def _sweep(self, project: ProjectId, before: datetime) -> int:
        done = 0
        while True:
            with self._database.write(project) as tx:
                gone = chunk_records.sweep(tx, before=before, limit=_SWEPT_AT_ONCE)
            done += gone
            if gone < _SWEPT_AT_ONCE:
                return done


def _both(tx: Transaction, before: str, after: str) -> tuple[records.SetRow, records.SetRow]:
    old, new = parse_set_reference(before), parse_set_reference(after)
    return find_set(tx, old), find_set(tx, new)


def _moved(tx: Transaction, ref: SetRef, row: records.SetRow) -> bool:
    """Whether a reference to the latest version would now be to another one."""
    now = records.find(tx, ref.name, ref.version)
    return now is not None and now.id != row.id


def path_at(store: tree.ChunkStore, root: tree.Root, rank: int) -> str:
    ((path, _),) = tree.iterate(store, root, offset=rank, limit=1)
    return path


def _change(change: tree.Change) -> FileChange:
    return FileChange(
        path=change.path,
        change=_kind(change),
        before=None if change.before is None else resolved(change.path, change.before),
        after=None if change.after is None else resolved(change.path, change.after),
    )


def _kind(change: tree.Change) -> ChangeKind:
    if change.before is None:
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if change.after is None else ChangeKind.CHANGED


def _count(changes: Iterator[tree.Change]) -> dict[ChangeKind, int]:
    counts = dict.fromkeys(ChangeKind, 0)
    for one in changes:
        counts[_kind(one)] += 1
    return counts
