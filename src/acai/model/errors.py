"""Every error a user can meet, in one tree.

    AcaiError                     code               HTTP
    ├─ InvalidInput               invalid_input      422
    │   ├─ InvalidReference       invalid_reference
    │   ├─ InvalidPath            invalid_path
    │   ├─ InvalidQuery           invalid_query
    │   ├─ InvalidCursor          invalid_cursor
    │   └─ InvalidSetting         invalid_setting
    ├─ Unauthenticated            unauthenticated    401
    ├─ Forbidden                  forbidden          403
    ├─ NotFound                   not_found          404
    │   └─ <thing>_not_found, one class per thing
    ├─ Conflict                   conflict           409
    │   └─ AlreadyExists          already_exists
    ├─ TooLarge                   too_large          413
    ├─ RateLimited                rate_limited       429
    ├─ Unavailable                unavailable        503
    │   ├─ ServerUnreachable      server_unreachable
    │   └─ StorageFull            storage_full       507
    └─ InternalError              internal           500
        └─ CorruptData            corrupt_data

A code is stable: the API sends it, the client raises the class that carries it, the
command line prints its message. `message` is one sentence that says what was wrong and,
where there is one, the remedy. `detail` holds values that a program may want.
"""

from __future__ import annotations

from typing import Any, ClassVar


class AcaiError(Exception):
    """The root. Raise a subclass."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = detail

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.detail)


def _rebuild(kind: type[AcaiError], message: str, detail: dict[str, Any]) -> AcaiError:
    return kind(message, **detail)


class InvalidInput(AcaiError):
    code = "invalid_input"
    status = 422


class InvalidReference(InvalidInput):
    code = "invalid_reference"


class InvalidPath(InvalidInput):
    code = "invalid_path"


class InvalidQuery(InvalidInput):
    """`detail` has `position` (0-based offset), `expected` and `query`."""

    code = "invalid_query"


class InvalidCursor(InvalidInput):
    code = "invalid_cursor"


class InvalidSetting(InvalidInput):
    code = "invalid_setting"


class Unauthenticated(AcaiError):
    code = "unauthenticated"
    status = 401


class Forbidden(AcaiError):
    code = "forbidden"
    status = 403


class NotFound(AcaiError):
    code = "not_found"
    status = 404


class ProjectNotFound(NotFound):
    code = "project_not_found"


class UserNotFound(NotFound):
    code = "user_not_found"


class ObjectNotFound(NotFound):
    code = "object_not_found"


class FileNotFound(NotFound):
    code = "file_not_found"


class SetNotFound(NotFound):
    code = "set_not_found"


class VersionNotFound(NotFound):
    code = "version_not_found"


class UploadNotFound(NotFound):
    code = "upload_not_found"


class JobNotFound(NotFound):
    code = "job_not_found"


class TemplateNotFound(NotFound):
    code = "template_not_found"


class Conflict(AcaiError):
    code = "conflict"
    status = 409


class AlreadyExists(Conflict):
    code = "already_exists"


class PathConflict(Conflict):
    """Two sources disagree on a path; `detail` names the path and both versions."""

    code = "path_conflict"


class UploadClosed(Conflict):
    """The upload session has ended: committed, aborted or expired."""

    code = "upload_closed"


class UploadIncomplete(Conflict):
    """An object of the session never arrived, or arrived with another size or checksum."""

    code = "upload_incomplete"


class ChecksumMismatch(Conflict):
    code = "checksum_mismatch"


class AlreadyRunning(Conflict):
    code = "already_running"


class TooLarge(AcaiError):
    code = "too_large"
    status = 413


class RateLimited(AcaiError):
    code = "rate_limited"
    status = 429


class Unavailable(AcaiError):
    """A part the platform needs does not answer; trying again later may help."""

    code = "unavailable"
    status = 503


class ServerUnreachable(Unavailable):
    code = "server_unreachable"


class StorageFull(Unavailable):
    code = "storage_full"
    status = 507


class SchemaTooNew(Unavailable):
    """The database was written by a newer acai than this one."""

    code = "schema_too_new"


class InternalError(AcaiError):
    code = "internal"


class CorruptData(InternalError):
    """Something the platform stored is missing, or is not what was written."""

    code = "corrupt_data"


def _walk(root: type[AcaiError]) -> list[type[AcaiError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in _walk(child))]


BY_CODE: dict[str, type[AcaiError]] = {kind.code: kind for kind in _walk(AcaiError)}


def from_wire(code: str, message: str, detail: dict[str, Any]) -> AcaiError:
    """The error that a server's answer describes; an unknown code becomes a plain AcaiError."""
    return BY_CODE.get(code, AcaiError)(message, **detail)
