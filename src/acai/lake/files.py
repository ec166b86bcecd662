"""Files and their versions: find, list, hide, and say where the bytes are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from difflib import get_close_matches

from acai.model import paths
from acai.model.changes import FILES, Tell, tell_nobody
from acai.model.errors import FileNotFound, InvalidInput, VersionNotFound
from acai.model.files import (
    BlobPlace,
    EntryKind,
    FileVersion,
    Listing,
    Places,
    ReadableObject,
    SignedCall,
)
from acai.model.identity import Principal
from acai.model.ids import Sha256
from acai.stores.objects.base import SigningStore
from acai.stores.records import files as records
from acai.stores.records.database import Database, Transaction


class Files:
    def __init__(
        self,
        database: Database,
        store: SigningStore,
        url_lifetime: timedelta,
        tell: Tell = tell_nobody,
    ) -> None:
        self._database = database
        self._store = store
        self._url_lifetime = url_lifetime
        self._tell = tell

    def find(self, caller: Principal, path: str, version: int | None) -> FileVersion:
        """One version of a file, the latest by default.

        A hidden file is still found by an explicit version. Raises FileNotFound with the
        nearest name, or VersionNotFound with the versions there are.
        """
        paths.validate_path(path)
        with self._database.read(caller.project) as tx:
            return self.row(tx, path, version).value()

    def row(self, tx: Transaction, path: str, version: int | None) -> records.VersionRow:
        """The same, inside a transaction, with its row id."""
        latest = records.latest_of(tx, [path]).get(path)
        if latest is None or (version is None and latest.hidden):
            raise _missing(tx, path, latest)
        if version is None or version == latest.version:
            return latest
        found = records.version_of(tx, path, version)
        if found is None:
            there = "only version 1" if latest.latest == 1 else f"versions 1 to {latest.latest}"
            raise VersionNotFound(
                f"{path} has no version {version}; it has {there}",
                path=path,
                first=1,
                last=latest.latest,
            )
        return found

    def versions(
        self, caller: Principal, path: str, *, before: int, limit: int
    ) -> Sequence[FileVersion]:
        """A path's versions, newest first; also of one that was removed from listings."""
        paths.validate_path(path)
        with self._database.read(caller.project) as tx:
            found = records.versions_of(tx, path, before=before, limit=limit)
            if not found and path not in records.latest_of(tx, [path]):
                raise _missing(tx, path, None)
        return [row.value() for row in found]

    def listing(
        self, caller: Principal, directory: str, *, after: str, limit: int
    ) -> Sequence[Listing]:
        """What lies right in a directory, by name, directories and files together."""
        paths.validate_directory(directory)
        with self._database.read(caller.project) as tx:
            files = records.files_in(tx, directory, after=after, limit=limit)
            names = records.directories_in(tx, directory, after=after, limit=limit)
            if not files and not names and not after and directory != "/":
                raise FileNotFound(f"there is no directory {directory}", path=directory)
        lines = [
            *(_line(row) for row in files),
            *(Listing(kind=EntryKind.DIRECTORY, path=f"{directory}{name}/") for name in names),
        ]
        lines.sort(key=lambda line: line.path.rstrip("/").encode())
        return lines[:limit]

    def under(
        self, caller: Principal, directory: str, *, after: str, limit: int
    ) -> Sequence[FileVersion]:
        """The latest versions of everything under a directory, by path."""
        paths.validate_directory(directory)
        with self._database.read(caller.project) as tx:
            found = records.under(tx, directory, after=after, limit=limit)
        return [row.value() for row in found]

    def hide(self, caller: Principal, path: str) -> int:
        """Take a file, or all under a directory, out of listings; every version is kept."""
        if path == "/":
            raise InvalidInput("the whole tree cannot be removed at once; name a directory in it")
        if path.endswith("/"):
            paths.validate_directory(path)
        else:
            paths.validate_path(path)
        with self._database.write(caller.project) as tx:
            count = records.hide(tx, path)
            if count == 0:
                raise _missing(tx, path, None)
        self._tell(caller.project, FILES)
        return count

    def places(self, caller: Principal, wanted: Sequence[Sha256]) -> Places:
        """Where to read these blobs, with a signed URL for each object that holds some."""
        with self._database.read(caller.project) as tx:
            rows = records.places(tx, list(dict.fromkeys(wanted)))
        missing = set(wanted) - {row.sha256 for row in rows}
        if missing:
            raise FileNotFound(f"this project has no content {min(missing)}", hash=min(missing))
        objects = {row.object_id: (row.key, row.object_size) for row in rows}
        return Places(
            blobs=tuple(
                BlobPlace(sha256=row.sha256, size=row.size, object=row.object_id, start=row.start)
                for row in rows
            ),
            objects=tuple(
                ReadableObject(id=object_id, key=key, size=size, get=self._sign(key))
                for object_id, (key, size) in objects.items()
            ),
        )

    def _sign(self, key: str) -> SignedCall:
        signed = self._store.sign_get(key, expires=self._url_lifetime)
        return SignedCall(method=signed.method, url=signed.url, headers=dict(signed.headers))


def _line(row: records.VersionRow) -> Listing:
    return Listing(
        kind=EntryKind.FILE,
        path=row.path,
        version=row.version,
        size=row.size,
        hash=row.sha256,
        content_type=row.content_type,
        creator=row.creator,
        create_time=row.created_at,
    )


def _missing(tx: Transaction, path: str, latest: records.VersionRow | None) -> FileNotFound:
    if latest is not None:
        return FileNotFound(
            f"{path} was removed; its versions are kept: name one, such as {path}:{latest.version}",
            path=path,
            last=latest.version,
        )
    plain = path.rstrip("/")
    if plain == path and records.is_directory(tx, path):
        return FileNotFound(f"{path} is a directory; write {path}/", path=path)
    near = get_close_matches(plain, records.near(tx, plain), 1)
    hint = f"; did you mean {near[0]}?" if near else "; see `acai file ls`"
    return FileNotFound(f"there is no file {path}{hint}", path=path, near=near)
