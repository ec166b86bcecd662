"""A lake of files and sets for tests: two users in one project, and a stranger in another."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.specs import Specs
from acai.lake.uploads import UploadRules, Uploads
from acai.model.files import BlobSpan, NewFile, NewObject
from acai.model.identity import Principal, Role
from acai.model.ids import Sha256
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records.database import Database

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
