"""The database's chunk stores keep the port's promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from acai.identity.service import Identity
from acai.lake.tree import ChunkStore, chunk_id
from acai.model.ids import ProjectId, public_id
from acai.stores.records import chunks as records
from acai.stores.records.chunks import BuildChunks, Chunks, StagedChunkLost
from acai.stores.records.database import PLATFORM, Database
from acai.stores.records.scope import mine
from acai.stores.records.tables_lake import staged_chunks
from acai.testing.chunks import ChunkStoreContract
from servers import set_lake

shared_database = set_lake.shared_database
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def projects(database: Database) -> tuple[ProjectId, ProjectId]:
    identity = Identity(database, failure_limit=10)
    made = [identity.create_project(public_id(name), "ann") for name in ("ours", "theirs")]
    one, other = (identity.authenticate(m.admin.token, "here", None).project for m in made)
    return one, other


class TestChunksOfOneTransaction(ChunkStoreContract):
    @pytest.fixture
    def store(self, database: Database, projects: tuple[ProjectId, ...]) -> Iterator[ChunkStore]:
        with database.write(projects[0]) as tx:
            yield Chunks(tx)


@pytest.mark.parametrize("hold", [0, 10**9], ids=["staged", "held"])
class TestChunksOfABuild(ChunkStoreContract):
    @pytest.fixture
    def store(
        self, database: Database, projects: tuple[ProjectId, ...], hold: int
    ) -> Iterator[ChunkStore]:
        with database.read(projects[0]) as snapshot:
            yield BuildChunks(database, projects[0], snapshot, lambda: NOW, hold=hold)


def _build(database: Database, project: ProjectId, *data: bytes) -> BuildChunks:
    with database.read(project) as snapshot:
        store = BuildChunks(database, project, snapshot, lambda: NOW, hold=0)
        store.put_many({chunk_id(one): one for one in data})
    return store


def _publish(database: Database, project: ProjectId, store: BuildChunks) -> None:
    with database.write(project) as tx:
        records.lock(tx)
        store.publish(tx)


def _sweep(database: Database, project: ProjectId, after: timedelta) -> int:
    with database.write(project) as tx:
        return records.sweep(tx, before=NOW + after, limit=100)


def _there(database: Database, project: ProjectId, *data: bytes) -> set[bytes]:
    with database.read(project) as tx:
        return set(Chunks(tx).get_many([chunk_id(one) for one in data]).values())


def _staged(database: Database, project: ProjectId) -> int:
    with database.read(project) as tx:
        counted = select(func.count()).select_from(staged_chunks).where(mine(staged_chunks))
        return int(tx.execute(counted).scalar_one())


def test_staged_chunks_are_swept_in_time(
    database: Database, projects: tuple[ProjectId, ...]
) -> None:
    ours, theirs = projects
    _build(database, ours, b"left", b"behind")
    _build(database, theirs, b"left")
    assert _sweep(database, ours, timedelta(0)) == 0
    with database.read(PLATFORM) as tx:
        later = NOW + timedelta(seconds=1)
        assert set(projects) <= set(records.projects_with_staged(tx, before=later))
    assert _sweep(database, ours, timedelta(seconds=1)) == 2
    assert _there(database, ours, b"left", b"behind") == set()
    assert _there(database, theirs, b"left") == {b"left"}


def test_published_chunks_are_not_swept(
    database: Database, projects: tuple[ProjectId, ...]
) -> None:
    ours, _ = projects
    store = _build(database, ours, b"one", b"two")
    _publish(database, ours, store)
    assert _staged(database, ours) == 0
    assert _sweep(database, ours, timedelta(days=9)) == 0
    assert _there(database, ours, b"one", b"two") == {b"one", b"two"}


def test_what_another_build_left_is_adopted(
    database: Database, projects: tuple[ProjectId, ...]
) -> None:
    ours, _ = projects
    _build(database, ours, b"shared", b"left")
    with database.write(ours) as tx:
        records.lock(tx)
        Chunks(tx).put_many({chunk_id(b"shared"): b"shared"})
    assert _sweep(database, ours, timedelta(days=9)) == 1
    assert _there(database, ours, b"shared", b"left") == {b"shared"}


def test_a_published_chunk_is_not_staged_again(
    database: Database, projects: tuple[ProjectId, ...]
) -> None:
    ours, _ = projects
    _publish(database, ours, _build(database, ours, b"kept"))
    _build(database, ours, b"kept", b"new")
    assert _sweep(database, ours, timedelta(days=9)) == 1
    assert _there(database, ours, b"kept", b"new") == {b"kept"}


def test_a_build_that_was_swept_cannot_be_published(
    database: Database, projects: tuple[ProjectId, ...]
) -> None:
    ours, _ = projects
    store = _build(database, ours, b"slow")
    _sweep(database, ours, timedelta(days=9))
    with pytest.raises(StagedChunkLost):
        _publish(database, ours, store)
