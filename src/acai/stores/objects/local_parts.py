"""Multipart uploads into a directory.

The parts are written straight to their places in one file, so completing an upload is a
rename and costs no second copy. A part counts once its record is written, which happens
after its bytes are verified and flushed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from acai.atomic import make_directory, sync_directory, write_atomically
from acai.model.errors import (
    InvalidInput,
    ObjectNotFound,
    Unavailable,
    UploadIncomplete,
    UploadNotFound,
)
from acai.model.ids import Sha256, random_word
from acai.model.keys import check_key
from acai.stores.objects.base import MultipartUpload, ObjectInfo, Part, SignedRequest, check_parts
from acai.stores.objects.local import Incoming, LocalStore, Tally, storage_errors
from acai.stores.objects.permits import Permit

_DATA = "data"


class LocalPartsStore(LocalStore):
    """A LocalStore that is also a Multipart: what the platform uses."""

    def start_multipart(self, key: str, *, size: int, part_size: int) -> str:
        check_key(key)
        check_parts(size, part_size)
        upload_id = random_word(20)
        directory = self._uploads / upload_id
        about = json.dumps({"key": key, "size": size, "part_size": part_size}).encode()
        with storage_errors(key):
            make_directory(directory, durable=self._durable)
            (directory / _DATA).touch()
            write_atomically(directory / "about", (about,), durable=self._durable)
        return upload_id

    def sign_part(
        self,
        key: str,
        upload_id: str,
        *,
        number: int,
        size: int,
        sha256: Sha256,
        expires: timedelta,
    ) -> SignedRequest:
        _Upload(self._uploads, key, upload_id).place(number, size)
        return self._sign(
            "PUT", key, expires, size=size, sha256=sha256, upload=upload_id, part=number
        )

    def incoming(self, permit: Permit) -> Incoming:
        if permit.upload is None or permit.part is None:
            return super().incoming(permit)
        upload = _Upload(self._uploads, permit.key, permit.upload)
        return _IncomingPart(permit, upload, permit.part, durable=self._durable)

    def list_parts(self, key: str, upload_id: str) -> list[Part]:
        return _Upload(self._uploads, key, upload_id).parts()

    def complete_multipart(self, key: str, upload_id: str, parts: Sequence[Part]) -> ObjectInfo:
        try:
            upload = _Upload(self._uploads, key, upload_id)
            with upload.locked(fcntl.LOCK_EX):
                _refuse_incomplete(upload, parts)
                self._put_in_place(upload, self._path(key))
        except UploadNotFound:
            done = self.head(key)
            if done is None or done.size != sum(part.size for part in parts):
                raise
            return done
        done = self.head(key)
        if done is None:
            raise ObjectNotFound(f"object {key} was deleted as it was completed", key=key)
        return done

    def _put_in_place(self, upload: _Upload, target: Path) -> None:
        with storage_errors(upload.key):
            upload.data.chmod(upload.data.stat().st_mode & 0o444)
            make_directory(target.parent, durable=self._durable)
            upload.data.replace(target)
            if self._durable:
                sync_directory(target.parent)
            shutil.rmtree(upload.directory, ignore_errors=True)

    def abort_multipart(self, key: str, upload_id: str) -> None:
        with contextlib.suppress(UploadNotFound):
            shutil.rmtree(_Upload(self._uploads, key, upload_id).directory, ignore_errors=True)

    def stale_multiparts(self, *, started_before: datetime) -> Iterator[MultipartUpload]:
        with storage_errors("uploads"):
            found = sorted(self._uploads.iterdir()) if self._uploads.is_dir() else []
            for directory in found:
                with contextlib.suppress(FileNotFoundError):
                    started = datetime.fromtimestamp((directory / "about").stat().st_mtime, UTC)
                    if started < started_before:
                        about = json.loads((directory / "about").read_bytes())
                        yield MultipartUpload(
                            key=about["key"], upload_id=directory.name, started=started
                        )

    def sweep_temporary(self, older_than: timedelta) -> int:
        """As in LocalStore; and what is left of uploads that were being made or removed."""
        swept = super().sweep_temporary(older_than)
        limit = time.time() - older_than.total_seconds()
        with storage_errors("uploads"):
            for directory in self._uploads.iterdir() if self._uploads.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):
                    whole = (directory / "about").exists() and (directory / _DATA).exists()
                    if not whole and directory.stat().st_mtime < limit:
                        shutil.rmtree(directory, ignore_errors=True)
                        swept += 1
        return swept

    @property
    def _uploads(self) -> Path:
        return self._private / "uploads"


class _Upload:
    """An upload that exists: what it is to become, and where its parts belong."""

    def __init__(self, uploads: Path, key: str, upload_id: str) -> None:
        self.key = key
        self.upload_id = upload_id
        self.directory = uploads / check_key(upload_id)
        self.data = self.directory / _DATA
        self._about = self.directory / "about"
        try:
            about = json.loads(self._about.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            about = {}
        if about.get("key") != key:
            raise self.unknown()
        self._size: int = about["size"]
        self._part_size: int = about["part_size"]
        self.count = -(-self._size // self._part_size)

    def unknown(self) -> UploadNotFound:
        return UploadNotFound(
            f"there is no multipart upload {self.upload_id} of object {self.key}; start a new one",
            key=self.key,
        )

    @contextlib.contextmanager
    def locked(self, kind: int) -> Iterator[None]:
        """Shared by the parts that are coming in, exclusive to completing.

        Raises UploadNotFound if it has been completed or aborted meanwhile.
        """
        try:
            about = os.open(self._about, os.O_RDONLY)
        except FileNotFoundError:
            raise self.unknown() from None
        try:
            _lock(about, kind, f"object {self.key} is still being received or completed")
            if not self.data.exists():
                raise self.unknown()
            yield
        finally:
            os.close(about)

    def place(self, number: int, size: int) -> int:
        """The offset of a part. Raises InvalidInput if there is no such part of that size."""
        offset = (number - 1) * self._part_size
        fits = 1 <= number <= self.count and size == min(self._part_size, self._size - offset)
        if not fits:
            raise InvalidInput(
                f"part {number} of {size} bytes does not fit {self._size} bytes in parts of "
                f"{self._part_size}"
            )
        return offset

    def record(self, number: int) -> Path:
        return self.directory / f"part-{number}"

    def parts(self) -> list[Part]:
        found = []
        for number in range(1, self.count + 1):
            with contextlib.suppress(FileNotFoundError):
                # Empty while a part is being written, and after a writer died.
                sha256 = Sha256(self.record(number).read_text())
                size = min(self._part_size, self._size - (number - 1) * self._part_size)
                if sha256:
                    found.append(Part(number=number, size=size, etag=f'"{sha256}"', sha256=sha256))
        return found


class _IncomingPart:
    """Writes one part to its place. Its record is locked meanwhile and holds nothing."""

    def __init__(self, permit: Permit, upload: _Upload, number: int, *, durable: bool) -> None:
        self._key = permit.key
        self._tally = Tally(permit)
        self._durable = durable
        self._offset = upload.place(number, permit.size or 0)
        with storage_errors(self._key), contextlib.ExitStack() as stack:
            stack.enter_context(upload.locked(fcntl.LOCK_SH))
            self._record = os.open(upload.record(number), os.O_RDWR | os.O_CREAT, 0o644)
            stack.callback(os.close, self._record)
            busy = f"part {number} of object {self._key} is being received by another request"
            _lock(self._record, fcntl.LOCK_EX, busy)
            self._data = os.open(upload.data, os.O_WRONLY)
            stack.callback(os.close, self._data)
            os.ftruncate(self._record, 0)
            self._open = stack.pop_all()

    def write(self, chunk: bytes) -> None:
        self._tally.add(chunk)
        with storage_errors(self._key):
            view = memoryview(chunk)
            while view:
                written = os.pwrite(self._data, view, self._offset)
                self._offset += written
                view = view[written:]

    def commit(self) -> str:
        sha256 = self._tally.finish()
        with storage_errors(self._key):
            if self._durable:
                os.fsync(self._data)
            os.pwrite(self._record, sha256.encode(), 0)
            if self._durable:
                os.fsync(self._record)
        return f'"{sha256}"'

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()


def _lock(descriptor: int, kind: int, busy: str) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unavailable(f"{busy}; try again in a moment") from None


def _refuse_incomplete(upload: _Upload, parts: Sequence[Part]) -> None:
    arrived = {part.number: part.etag for part in upload.parts()}
    wanted = {part.number: part.etag for part in parts}
    numbers = sorted({*wanted, *range(1, upload.count + 1)})
    lacking = [n for n in numbers if n not in wanted or arrived.get(n) != wanted[n]]
    if lacking:
        raise UploadIncomplete(
            f"parts {lacking[:10]} of object {upload.key} have not arrived as stated; send them "
            "and complete it again",
            key=upload.key,
            parts=lacking[:1000],
        )
