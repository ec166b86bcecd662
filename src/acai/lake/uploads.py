"""Upload sessions: a batch of files is one transaction, resumable, and never half visible.

The order of commitment: bytes into the store, then the record that they arrived, then one
database transaction that hands out versions and shows all files of the session at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from acai.model.changes import FILES, Tell, tell_nobody
from acai.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    ObjectNotFound,
    PathConflict,
    UploadClosed,
    UploadIncomplete,
    UploadNotFound,
)
from acai.model.files import (
    FileVersion,
    NewFile,
    NewObject,
    ObjectSlot,
    PartToSend,
    SentPart,
    SharedDirectory,
    SignedCall,
    TransferLimits,
    Upload,
    UploadState,
)
from acai.model.identity import Principal, Role
from acai.model.ids import Sha256, public_id, random_word
from acai.model.paths import validate_path
from acai.stores.objects.base import Multipart, Part, SignedRequest, SigningStore, part_size_for
from acai.stores.records import files as file_records
from acai.stores.records import publishing
from acai.stores.records import uploads as records
from acai.stores.records.database import Database, Transaction

BATCH = 5000
MIB = 1024 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}").fullmatch


@dataclass(frozen=True, kw_only=True)
class UploadRules:
    lifetime: timedelta  # of an idle session
    url_lifetime: timedelta
    pack_size: int = 64 * MIB
    pack_below: int = 8 * MIB
    multipart_above: int = 64 * MIB


class Uploads:
    def __init__(
        self,
        database: Database,
        store: SigningStore,
        rules: UploadRules,
        clock: Callable[[], datetime],
        shared_directory: SharedDirectory | None = None,
        tell: Tell = tell_nobody,
    ) -> None:
        self._database = database
        self._store = store
        self._rules = rules
        self._clock = clock
        self._shared_directory = shared_directory
        self._tell = tell

    def limits(self, *, same_host: bool) -> TransferLimits:
        """How to send; the store's own directory is told only to clients on this host."""
        return TransferLimits(
            pack_size=self._rules.pack_size,
            pack_below=self._rules.pack_below,
            part_size=part_size_for(0),
            batch=BATCH,
            shared_directory=self._shared_directory if same_host else None,
        )

    def open(self, caller: Principal, resume_key: str | None) -> Upload:
        """A new session; or the caller's pending one with this key, to be announced anew.

        What a resumed session had stored stays; only the list of files begins again.
        """
        if resume_key is not None and not 0 < len(resume_key) <= 128:
            raise InvalidInput("a resume key has 1 to 128 characters")
        now = self._clock()
        with self._database.write(caller.project) as tx:
            found = None
            if resume_key is not None:
                records.lock_project(tx)  # two resumes at once must find the same session
                found = records.find_pending(tx, caller.user_id, resume_key)
            if found is not None:
                records.clear_files(tx, found.id)
                records.touch(tx, found.id, now)
                return self._value(found, touched=now, resumed=True)
            new = public_id("up")
            records.add(tx, public_id=new, user=caller.user_id, resume_key=resume_key, now=now)
            made = records.find(tx, new)
            assert made is not None
        return self._value(made)

    def find(self, caller: Principal, upload: str) -> Upload:
        with self._database.read(caller.project) as tx:
            return self._value(_found(records.find(tx, upload), upload))

    def list(
        self, caller: Principal, *, state: UploadState | None, before: int, limit: int
    ) -> Sequence[tuple[int, Upload]]:
        """Sessions with their row ids to page by: one's own, or for an admin everyone's."""
        own = caller.user_id if caller.user.role is Role.MEMBER else None
        with self._database.read(caller.project) as tx:
            rows = records.page(tx, user=own, state=state, before=before, limit=limit)
        return [(row.id, self._value(row)) for row in rows]

    def add_files(
        self, caller: Principal, upload: str, announced: Sequence[NewFile]
    ) -> Sequence[Sha256]:
        """Announce files; returns the blobs that are to be sent. Can be repeated."""
        if len(announced) > BATCH:
            raise InvalidInput(f"{len(announced)} files in one call; send at most {BATCH}")
        seen: set[str] = set()
        for file in announced:
            validate_path(file.path)
            _check_digest(file.sha256)
            if file.size < 0:
                raise InvalidInput(f"{file.path}: a size cannot be negative")
            if file.path in seen:
                raise InvalidInput(f"{file.path} is announced twice in one call")
            seen.add(file.path)
        wanted = list(dict.fromkeys(file.sha256 for file in announced))
        with self._database.write(caller.project) as tx:
            session = self._pending(tx, caller, upload)
            records.add_files(tx, session.id, announced)
            records.touch(tx, session.id, self._clock())
            known = records.known_blobs(tx, session.id, wanted)
        return [sha256 for sha256 in wanted if sha256 not in known]

    def add_objects(
        self, caller: Principal, upload: str, new: Sequence[NewObject], *, in_place: bool = False
    ) -> Sequence[ObjectSlot]:
        """Make room for objects, and say where to send each. One begun before is continued.

        `in_place`: the client writes them into the shared directory, so there are no parts.
        """
        for one in new:
            _check_object(one)
        begun: list[records.ObjectRow | None] = [None] * len(new)
        if not in_place:
            with self._database.read(caller.project) as tx:
                session = self._pending(tx, caller, upload)
                begun = [records.find_object_of_blob(tx, session.id, one.sha256) for one in new]
        slots: list[ObjectSlot] = []
        for one, earlier in zip(new, begun, strict=True):
            if earlier is not None and earlier.size == one.size:
                slots.append(
                    ObjectSlot(id=earlier.id, key=earlier.key, part_size=earlier.part_size)
                )
            else:
                slots.append(self._add_object(caller, upload, one, in_place=in_place))
        return slots

    def _add_object(
        self, caller: Principal, upload: str, one: NewObject, *, in_place: bool
    ) -> ObjectSlot:
        key = f"{caller.project}/{upload}/{random_word(16)}"
        multipart_id, part_size = None, None
        large = one.size > self._rules.multipart_above
        if large and not in_place and isinstance(self._store, Multipart):
            part_size = part_size_for(one.size)
            multipart_id = self._store.start_multipart(key, size=one.size, part_size=part_size)
        with self._database.write(caller.project) as tx:
            session = self._pending(tx, caller, upload)
            object_id = records.add_object(
                tx,
                session.id,
                key=key,
                size=one.size,
                sha256=one.sha256,
                multipart_id=multipart_id,
                part_size=part_size,
                spans=one.blobs,
                now=self._clock(),
            )
            records.touch(tx, session.id, self._clock())
        if multipart_id is not None:
            return ObjectSlot(id=object_id, key=key, part_size=part_size)
        put = self._store.sign_put(
            key, size=one.size, sha256=one.sha256, expires=self._rules.url_lifetime
        )
        return ObjectSlot(id=object_id, key=key, put=_call(put))

    def sign_parts(
        self, caller: Principal, upload: str, object_id: int, parts: Sequence[PartToSend]
    ) -> Sequence[SignedCall]:
        """Where to send parts of an object; asking again gives fresh URLs."""
        row, store = self._multipart(caller, upload, object_id)
        for part in parts:
            _check_digest(part.sha256)
        return [
            _call(
                store.sign_part(
                    row.key,
                    row.multipart_id or "",
                    number=part.number,
                    size=part.size,
                    sha256=part.sha256,
                    expires=self._rules.url_lifetime,
                )
            )
            for part in parts
        ]

    def sent_parts(self, caller: Principal, upload: str, object_id: int) -> Sequence[SentPart]:
        """The parts that have arrived, so that a resumed client sends only the others."""
        row, store = self._multipart(caller, upload, object_id)
        return [
            SentPart(number=part.number, size=part.size, etag=part.etag, sha256=part.sha256)
            for part in store.list_parts(row.key, row.multipart_id or "")
        ]

    def complete_objects(
        self, caller: Principal, upload: str, sent: Mapping[int, Sequence[SentPart]]
    ) -> None:
        """Check that objects have arrived whole, and take them into the session.

        Raises UploadIncomplete naming the object if one did not, or has another size or
        checksum than was announced. Can be repeated.
        """
        with self._database.read(caller.project) as tx:
            session = self._pending(tx, caller, upload)
            rows = records.find_objects(tx, session.id, list(sent))
        if len(rows) != len(sent):
            missing = sorted(set(sent) - {row.id for row in rows})
            raise ObjectNotFound(f"the upload has no object {missing[0]}")
        for row in rows:
            if not row.stored:
                self._verify(row, sent[row.id])
        with self._database.write(caller.project) as tx:
            self._pending(tx, caller, upload)
            records.mark_stored(tx, list(sent))
            records.touch(tx, session.id, self._clock())

    def _verify(self, row: records.ObjectRow, parts: Sequence[SentPart]) -> None:
        if row.multipart_id is not None:
            assert isinstance(self._store, Multipart)
            given = [
                Part(number=part.number, size=part.size, etag=part.etag, sha256=part.sha256)
                for part in parts
            ]
            found = self._store.complete_multipart(row.key, row.multipart_id, given)
        else:
            arrived = self._store.head(row.key)
            if arrived is None:
                raise UploadIncomplete(
                    f"object {row.id} never arrived in the store; send it again", object=row.id
                )
            found = arrived
        if found.size != row.size:
            raise UploadIncomplete(
                f"object {row.id} arrived with {found.size} bytes instead of {row.size};"
                " send it again",
                object=row.id,
            )
        if found.sha256 is not None and found.sha256 != row.sha256 and row.multipart_id is None:
            raise UploadIncomplete(
                f"object {row.id} arrived with another checksum; send it again", object=row.id
            )

    def commit(self, caller: Principal, upload: str, file_count: int) -> Upload:
        """Make the session's files visible, all at once; a second commit changes nothing.

        `file_count` is how many the client announced: a lost batch must not go unnoticed.
        """
        now = self._clock()
        with self._database.write(caller.project) as tx:
            records.lock_project(tx)
            session = _found(records.find(tx, upload, lock=True), upload)
            _check_owner(session, caller)
            if session.state is UploadState.COMMITTED:
                return self._value(session)
            _check_pending(session)
            count, size = publishing.announced(tx, session.id)
            if count == 0:
                raise InvalidInput("the upload holds no file; announce some, or abort it")
            if count != file_count:
                raise UploadIncomplete(
                    f"the upload holds {count} files, but {file_count} were meant;"
                    " announce the missing ones",
                    found=count,
                    expected=file_count,
                )
            publishing.prepare_commit(tx, count)
            newest = publishing.newest_version(tx)
            publishing.publish_blobs(tx, session.id)
            lacking = publishing.first_without_bytes(tx, session.id)
            if lacking is not None:
                raise UploadIncomplete(
                    f"the bytes of {lacking} have not arrived; send them", path=lacking
                )
            self._publish(tx, session.id, caller, now, count)
            records.end(
                tx,
                session.id,
                UploadState.COMMITTED,
                now,
                file_count=count,
                size=size,
                made_after=newest,
            )
            committed = _found(records.find(tx, upload), upload)
        self._tell(caller.project, FILES)
        return self._value(committed)

    def _publish(
        self, tx: Transaction, session: int, caller: Principal, now: datetime, count: int
    ) -> None:
        directories = publishing.directories_of(tx, session)
        blocked = publishing.file_in_the_way(tx, directories)
        if blocked is None:
            blocked = publishing.directory_in_the_way(tx, session)
        if blocked is not None:
            raise PathConflict(
                f"{blocked} would be a file and a directory at once;"
                f" choose another path, or remove the one that is there with `acai file rm`",
                path=blocked,
            )
        publishing.publish_files(tx, session, caller.user_id, now, file_count=count)
        # A session may itself hold both /a and /a/b; its own files are visible by now.
        blocked = publishing.file_in_the_way(tx, directories)
        if blocked is not None:
            raise PathConflict(f"the upload has {blocked} as a file and as a directory")
        publishing.publish_directories(tx, directories)

    def abort(self, caller: Principal, upload: str) -> Upload:
        """End the session without a trace in any listing; a second abort changes nothing."""
        with self._database.write(caller.project) as tx:
            session = _found(records.find(tx, upload, lock=True), upload)
            if caller.user.role is Role.MEMBER:
                _check_owner(session, caller)
            if session.state is not UploadState.ABORTED:
                _check_pending(session)
                records.end(tx, session.id, UploadState.ABORTED, self._clock())
            aborted = _found(records.find(tx, upload), upload)
        return self._value(aborted)

    def files(
        self, caller: Principal, upload: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, FileVersion]]:
        """What a committed session made, with row ids to page by."""
        with self._database.read(caller.project) as tx:
            session = _found(records.find(tx, upload), upload)
            rows = file_records.of_upload(
                tx, session.id, after=max(after, session.made_after), limit=limit
            )
        return [(row.id, row.value()) for row in rows]

    def _pending(self, tx: Transaction, caller: Principal, upload: str) -> records.UploadRow:
        session = _found(records.find(tx, upload), upload)
        _check_owner(session, caller)
        _check_pending(session)
        return session

    def _multipart(
        self, caller: Principal, upload: str, object_id: int
    ) -> tuple[records.ObjectRow, Multipart]:
        with self._database.read(caller.project) as tx:
            session = self._pending(tx, caller, upload)
            rows = records.find_objects(tx, session.id, [object_id])
        if not rows:
            raise ObjectNotFound(f"the upload has no object {object_id}")
        if rows[0].multipart_id is None or not isinstance(self._store, Multipart):
            raise Conflict(f"object {object_id} is sent whole, not in parts")
        return rows[0], self._store

    def _value(
        self, row: records.UploadRow, *, touched: datetime | None = None, resumed: bool = False
    ) -> Upload:
        return Upload(
            id=row.public_id,
            state=row.state,
            creator=row.creator,
            create_time=row.created_at,
            expires_at=(touched or row.touched_at) + self._rules.lifetime,
            resumed=resumed,
            file_count=row.file_count,
            size=row.size,
        )


def _found(row: records.UploadRow | None, upload: str) -> records.UploadRow:
    if row is None:
        raise UploadNotFound(f"there is no upload {upload!r} in this project")
    return row


def _check_owner(session: records.UploadRow, caller: Principal) -> None:
    if session.user_id != caller.user_id:
        raise Forbidden(f"upload {session.public_id} belongs to {session.creator}")


def _check_pending(session: records.UploadRow) -> None:
    if session.state is not UploadState.PENDING:
        raise UploadClosed(
            f"upload {session.public_id} is {session.state.value}; start a new one",
            state=session.state.value,
        )


def _check_digest(sha256: str) -> None:
    if not _SHA256(sha256):
        raise InvalidInput(f"{sha256[:80]!r} is not a SHA-256: it has 64 hexadecimal digits")


def _check_object(one: NewObject) -> None:
    _check_digest(one.sha256)
    end = 0
    if not one.blobs:
        raise InvalidInput("an object must hold at least one blob")
    for span in one.blobs:
        _check_digest(span.sha256)
        if span.start != end or span.size < 0:
            raise InvalidInput(
                f"blob {span.sha256[:12]} begins at {span.start}, but the one before it ends"
                f" at {end}: blobs lie side by side in an object"
            )
        end += span.size
    if end != one.size:
        raise InvalidInput(f"the object's blobs have {end} bytes, but it claims {one.size}")
    if len(one.blobs) == 1 and one.blobs[0].sha256 != one.sha256:
        raise InvalidInput("an object of one blob has the blob's own checksum")


def _call(signed: SignedRequest) -> SignedCall:
    return SignedCall(method=signed.method, url=signed.url, headers=dict(signed.headers))
