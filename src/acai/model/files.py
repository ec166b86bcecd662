"""Files, their versions, and the sessions that bring them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from acai.model.ids import Sha256


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    path: str
    version: int
    size: int
    hash: Sha256
    content_type: str | None
    creator: str
    create_time: datetime
    id: str  # `file:REF`, which any command takes


class EntryKind(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"


@dataclass(frozen=True, kw_only=True)
class Listing:
    """One line of a directory. A directory has only its path, which ends in a slash."""

    kind: EntryKind
    path: str
    version: int | None = None
    size: int | None = None
    hash: Sha256 | None = None
    content_type: str | None = None
    creator: str | None = None
    create_time: datetime | None = None


class UploadState(StrEnum):
    PENDING = "pending"
    COMMITTED = "committed"
    ABORTED = "aborted"
    EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A session: files that become visible together, or not at all."""

    id: str
    state: UploadState
    creator: str
    create_time: datetime
    expires_at: datetime
    resumed: bool = False
    file_count: int = 0
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """A file as the client announces it."""

    path: str
    size: int
    sha256: Sha256
    content_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class BlobSpan:
    """Where a blob lies inside an object that the client is about to send."""

    sha256: Sha256
    size: int
    start: int


@dataclass(frozen=True, kw_only=True)
class NewObject:
    """An object that the client wants to send: one large blob, or a pack of small ones."""

    size: int
    sha256: Sha256  # of the whole object
    blobs: tuple[BlobSpan, ...]


@dataclass(frozen=True, kw_only=True)
class SignedCall:
    """A request that the client may make to the store. A URL with no host is the server's."""

    method: str
    url: str
    headers: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ObjectSlot:
    """Where to send an object: by one PUT, or in parts of `part_size`."""

    id: int
    key: str
    put: SignedCall | None = None
    part_size: int | None = None


@dataclass(frozen=True, kw_only=True)
class PartToSend:
    number: int
    size: int
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class SentPart:
    number: int
    size: int
    etag: str
    sha256: Sha256 | None = None


@dataclass(frozen=True, kw_only=True)
class BlobPlace:
    """Where to read a blob: `size` bytes of the object, from `start`."""

    sha256: Sha256
    size: int
    object: int
    start: int


@dataclass(frozen=True, kw_only=True)
class ReadableObject:
    id: int
    key: str
    size: int
    get: SignedCall


@dataclass(frozen=True, kw_only=True)
class Places:
    """Blobs and the objects that hold them, each object once."""

    blobs: tuple[BlobPlace, ...]
    objects: tuple[ReadableObject, ...]


@dataclass(frozen=True, kw_only=True)
class SharedDirectory:
    """The store's own directory, offered to a client on the same host; see `acai.samehost`."""

    root: str
    word: str


@dataclass(frozen=True, kw_only=True)
class TransferLimits:
    """How the store wants to be spoken to."""

    pack_size: int  # small blobs travel in objects of up to this size
    pack_below: int  # a blob smaller than this is small
    part_size: int
    batch: int  # most items in one call
    shared_directory: SharedDirectory | None = None
