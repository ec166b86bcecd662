"""A lake of files and sets for tests: two users in one project, and a stranger in another."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, func, select, text

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.provenance import Provenance
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.lake.uploads import BATCH, UploadRules, Uploads
from acai.model.files import BlobSpan, NewFile, NewObject
from acai.model.identity import Principal, Role
from acai.model.ids import Sha256, public_id
from acai.model.references import parse_set_reference
from acai.model.sets import Prefer, SetVersion
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records.database import Database, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import mine
from acai.stores.records.tables_lake import chunks

HOUR = timedelta(hours=1)


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def shared_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """One database of each kind for a whole module, whose tests take a project each."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('shared') / 'acai.db'}"
        else:
            url = stack.enter_context(_own_postgres(request.getfixturevalue("postgres_server")))
        opened = open_database(url)
        stack.callback(opened.close)
        migrate(opened)
        yield opened


@contextmanager
def _own_postgres(server: str) -> Iterator[str]:
    name = f"acai_{secrets.token_hex(6)}"
    admin = create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    base, _, query = server.partition("?")
    yield f"{base.rsplit('/', 1)[0]}/{name}?{query}".replace("+psycopg", "")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class SetLake:
    def __init__(self, database: Database, root: Path) -> None:
        self.database = database
        self.clock = Clock()
        identity = Identity(database, failure_limit=100)
        project = identity.create_project(public_id("ours"), "ann")
        other = identity.create_project(public_id("theirs"), "eve")
        self.ann = identity.authenticate(project.admin.token, "here", None)
        self.eve = identity.authenticate(other.admin.token, "here", None)
        bob = identity.create_user(self.ann, "bob", Role.MEMBER)
        self.bob = identity.authenticate(bob.token, "here", None)
        self._store = LocalPartsStore(root, sign_secret=b"secret", durable=False)
        rules = UploadRules(lifetime=timedelta(days=7), url_lifetime=HOUR)
        self.uploads = Uploads(database, self._store, rules, self.clock)
        self.files = Files(database, self._store, HOUR)
        self.specs = Specs(database, self.files)
        self.sets = Sets(database, self.specs, self.clock)
        self.provenance = Provenance(database, self.files)

    def put(self, *paths: str, who: Principal | None = None) -> None:
        """Upload the next version of each path, in one session. All have the same content."""
        caller = who or self.ann
        data = b"content"
        digest = Sha256(hashlib.sha256(data).hexdigest())
        upload = self.uploads.open(caller, None)
        new = [NewFile(path=path, size=len(data), sha256=digest) for path in paths]
        missing = [
            self.uploads.add_files(caller, upload.id, new[start : start + BATCH])
            for start in range(0, len(new), BATCH)
        ]
        if any(missing):
            span = BlobSpan(sha256=digest, size=len(data), start=0)
            pack = NewObject(size=len(data), sha256=digest, blobs=(span,))
            slot = self.uploads.add_objects(caller, upload.id, [pack])[0]
            self._store.put(slot.key, data)
            self.uploads.complete_objects(caller, upload.id, {slot.id: []})
        self.uploads.commit(caller, upload.id, len(paths))

    def make(
        self, name: str, *specs: str, who: Principal | None = None, prefer: Prefer | None = None
    ) -> SetVersion:
        return self.sets.create(who or self.ann, name, specs, prefer)

    def held(self, ref: str) -> dict[str, int]:
        """The set as a map from path to version."""
        _, found = self.sets.files(
            self.ann, parse_set_reference(ref), prefix="/", after="", limit=10**9
        )
        return {one.path: one.version for one in found}

    def chunk_count(self) -> int:
        with self.database.read(self.ann.project) as tx:
            return int(
                tx.execute(
                    select(func.count()).select_from(chunks).where(mine(chunks))
                ).scalar_one()
            )
