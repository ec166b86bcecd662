"""The chunks of set manifests, in the database.

A chunk is immutable and named by its content. A large set is written in several short
transactions before the one that makes it visible; until then its chunks are *staged*, which a
small table of its own tells. What is staged belongs to nobody: when its writer died, the
sweep takes it, and when another writer needs the same chunk, that one adopts it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, update

from acai.model.ids import ProjectId
from acai.stores.records.database import Database, Transaction
from acai.stores.records.scope import mine
from acai.stores.records.tables import projects
from acai.stores.records.tables_lake import chunks, staged_chunks

_LOOKUP = 500  # ids in one statement
_HOLD = 8 * 1024 * 1024  # bytes of a build kept in memory before they are staged


class StagedChunkLost(Exception):
    """A staged chunk was swept before its set was recorded: the build must be done again."""


class Chunks:
    """The chunk port of the tree over one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def get_many(self, ids: Collection[bytes], /) -> Mapping[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for some in _batches(list(ids)):
            rows = self._tx.execute(
                select(chunks.c.id, chunks.c.data).where(mine(chunks), chunks.c.id.in_(some))
            )
            found.update((bytes(row.id), bytes(row.data)) for row in rows)
        return found

    def put_many(self, new: Mapping[bytes, bytes], /) -> None:
        """Keep chunks for good, in the transaction that also writes what refers to them."""
        _add(self._tx, new)
        adopt(self._tx, list(new))


class BuildChunks:
    """The chunk port for one build: reads a snapshot, and writes outside of it.

    A small build keeps what it makes in memory until `publish`. A large one stages it from
    time to time, so that other writers wait for milliseconds and not for the whole build.
    """

    def __init__(
        self,
        database: Database,
        project: ProjectId,
        snapshot: Transaction,
        clock: Callable[[], datetime],
        *,
        hold: int = _HOLD,
    ) -> None:
        self._database = database
        self._project = project
        self._snapshot = Chunks(snapshot)
        self._clock = clock
        self._hold = hold
        self._held: dict[bytes, bytes] = {}
        self._held_bytes = 0
        self._staged: set[bytes] = set()

    def get_many(self, ids: Collection[bytes], /) -> Mapping[bytes, bytes]:
        found = {id_: self._held[id_] for id_ in ids if id_ in self._held}
        found.update(self._snapshot.get_many([id_ for id_ in ids if id_ not in found]))
        later = [id_ for id_ in ids if id_ not in found and id_ in self._staged]
        if later:
            with self._database.read(self._project) as tx:
                found.update(Chunks(tx).get_many(later))
        return found

    def put_many(self, new: Mapping[bytes, bytes], /) -> None:
        fresh = {
            id_: bytes(data)
            for id_, data in new.items()
            if id_ not in self._held and id_ not in self._staged
        }
        self._held.update(fresh)
        self._held_bytes += sum(map(len, fresh.values()))
        if self._held_bytes > self._hold:
            with self._database.write(self._project) as tx:
                lock(tx)
                stage(tx, self._held, self._clock())
            self._staged |= self._held.keys()
            self._held, self._held_bytes = {}, 0

    def publish(self, tx: Transaction) -> None:
        """Keep everything for good; in the transaction that records the set, under its lock.

        Raises StagedChunkLost if the sweep was faster.
        """
        adopt(tx, list(self._staged))
        Chunks(tx).put_many(self._held)


def lock(tx: Transaction) -> None:
    """Writers and sweepers of one project's chunks take turns; inserts beside them do not wait."""
    tx.execute(
        select(projects.c.id).where(projects.c.id == tx.project).with_for_update(key_share=True)
    )


def stage(tx: Transaction, new: Mapping[bytes, bytes], now: datetime) -> None:
    """Write chunks that nothing refers to yet. Needs the lock."""
    for some in _batches(list(new)):
        there = {
            bytes(row.id)
            for row in tx.execute(select(chunks.c.id).where(mine(chunks), chunks.c.id.in_(some)))
        }
        tx.execute(
            update(staged_chunks)
            .where(mine(staged_chunks), staged_chunks.c.id.in_(some))
            .values(staged_at=now)
        )
        fresh = [id_ for id_ in some if id_ not in there]
        tx.insert(chunks, ({"id": id_, "data": new[id_]} for id_ in fresh))
        tx.insert(staged_chunks, ({"id": id_, "staged_at": now} for id_ in fresh))


def adopt(tx: Transaction, ids: Sequence[bytes]) -> None:
    """Make staged chunks permanent; those that are permanent stay. Needs the lock.

    Raises StagedChunkLost if one of them is not there.
    """
    for some in _batches(ids):
        gone = tx.execute(
            delete(staged_chunks).where(mine(staged_chunks), staged_chunks.c.id.in_(some))
        ).rowcount
        if gone == len(some):
            continue
        there = tx.execute(
            select(func.count()).select_from(chunks).where(mine(chunks), chunks.c.id.in_(some))
        ).scalar_one()
        if there != len(some):
            raise StagedChunkLost


def projects_with_staged(tx: Transaction, *, before: datetime) -> list[ProjectId]:
    """Projects with something to sweep. Runs platform-wide."""
    rows = tx.execute(
        select(staged_chunks.c.project_id).where(staged_chunks.c.staged_at < before).distinct()
    )
    return [ProjectId(row.project_id) for row in rows]


def sweep(tx: Transaction, *, before: datetime, limit: int) -> int:
    """Delete chunks that were staged before then and never became part of a set."""
    lock(tx)
    rows = tx.execute(
        select(staged_chunks.c.id)
        .where(mine(staged_chunks), staged_chunks.c.staged_at < before)
        .limit(limit)
    )
    ids = [bytes(row.id) for row in rows]
    for some in _batches(ids):
        for table in (staged_chunks, chunks):
            tx.execute(delete(table).where(mine(table), table.c.id.in_(some)))
    return len(ids)


def _add(tx: Transaction, new: Mapping[bytes, bytes]) -> None:
    ids = sorted(new)
    for some in _batches(ids):
        tx.merge(chunks, ({"id": id_, "data": new[id_]} for id_ in some), replace=False)


def _batches(ids: Sequence[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(ids), _LOOKUP):
        yield list(ids[start : start + _LOOKUP])
