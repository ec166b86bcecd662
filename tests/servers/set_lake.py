"""A lake of files and sets for tests: two users in one project, and a stranger in another."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.provenance import Provenance
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.lake.uploads import UploadRules, Uploads
from acai.model.files import BlobSpan, NewFile, NewObject
from acai.model.identity import Principal, Role
from acai.model.ids import Sha256
from acai.model.references import parse_set_reference
from acai.model.sets import Prefer, SetVersion
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records.database import Database
from acai.stores.records.scope import mine
from acai.stores.records.tables_lake import chunks

HOUR = timedelta(hours=1)


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
        project = identity.create_project("ours", "ann")
        other = identity.create_project("theirs", "eve")
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
        if self.uploads.add_files(caller, upload.id, new):
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
                tx.execute(select(func.count()).select_from(chunks).where(mine(chunks))).scalar_one()
            )
