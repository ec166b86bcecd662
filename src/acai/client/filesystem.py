"""The lake as an fsspec filesystem: `acai://PROJECT/path[:v]` and `acai://PROJECT/path@set[:v]`.

pandas, pyarrow, dask and others open lake files by such URLs once acai is installed. A name
is a reference, so that a literal `@` in it is `%40`; what `ls` gives can be opened. Reading
fetches ranges; a write is an upload session that is committed on close.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, cast

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from fsspec.transaction import Transaction

from acai.client.client import Client
from acai.client.entries import (
    Info,
    as_directory,
    children_in_set,
    directory_info,
    file_info,
    latest,
    line_info,
    project_info,
)
from acai.client.reading import Content
from acai.model.errors import (
    Conflict,
    Forbidden,
    InvalidReference,
    NotFound,
    Unauthenticated,
)
from acai.model.references import DirectoryRef, FileRef, parse_url


@contextlib.contextmanager
def _os_errors(path: str) -> Iterator[None]:
    """The errors that callers of a filesystem expect."""
    try:
        yield
    except NotFound as error:
        raise FileNotFoundError(errno.ENOENT, error.message, path) from error
    except (Forbidden, Unauthenticated) as error:
        raise PermissionError(errno.EACCES, error.message, path) from error
    except InvalidReference as error:
        raise ValueError(error.message) from error
    except Conflict as error:
        raise OSError(errno.EEXIST, error.message, path) from error


class _OneSession(Transaction):  # type: ignore[misc]
    """All files of a transaction appear together: they are one upload session."""

    fs: Any

    def complete(self, commit: bool = True) -> None:
        try:
            if commit and self.files:
                self.fs.upload_spools(list(self.files))
        finally:
            while self.files:
                self.files.popleft().discard()
            self.fs._intrans = False
            self.fs._transaction = None
            self.fs = None


class AcaiFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Server and token are found as the command line finds them, unless they are given."""

    protocol = "acai"
    root_marker = ""
    transaction_type = _OneSession

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        client: Client | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._server = server
        self._token = token
        self._given = client
        self._clients: dict[str, Client] = {}
        self._making = threading.Lock()
        self._gathered = threading.local()

    def client(self, project: str) -> Client:
        if self._given is not None:
            return self._given
        with self._making:
            if project not in self._clients:
                self._clients[project] = Client(self._server, self._token, project)
            return self._clients[project]

    def _parse(self, path: str) -> tuple[Client, str, FileRef | DirectoryRef]:
        stripped = cast(str, self._strip_protocol(path))
        url = parse_url(f"acai://{stripped}")
        return self.client(url.project), url.project, url.target

    def info(self, path: str, **_: Any) -> Info:
        with _os_errors(path):
            client, project, ref = self._parse(path)
            if isinstance(ref, FileRef):
                try:
                    return file_info(project, client.find_file(str(ref)), ref.version, ref.set)
                except NotFound:
                    if ref.version is not None:
                        raise
            return directory_info(project, self._occupied(client, ref))

    def _occupied(self, client: Client, ref: FileRef | DirectoryRef) -> DirectoryRef:
        """The directory that a path names. Raises NotFound if there is nothing in it."""
        directory = as_directory(ref)
        if directory.set is not None:
            next(client.resolve(str(directory)))
        elif directory.directory != "/":
            next(client.list_files(str(directory)))
        return directory

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Info] | list[str]:
        with _os_errors(path):
            if not cast(str, self._strip_protocol(path)):
                client = self._given or Client(self._server, self._token)
                found = [project_info(each.name) for each in client.list_projects()]
            else:
                found = self._children(path)
        return found if detail else sorted(info["name"] for info in found)

    def _children(self, path: str) -> list[Info]:
        client, project, ref = self._parse(path)
        if isinstance(ref, FileRef):
            with contextlib.suppress(NotFound):
                return [file_info(project, client.find_file(str(ref)), ref.version, ref.set)]
            if ref.version is not None:
                raise NotFound(f"there is no {path}")
        directory = as_directory(ref)
        if directory.set is not None:
            return children_in_set(project, directory, client.resolve(str(directory)))
        lines = client.list_files(str(directory))
        return [line_info(project, line) for line in lines]

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **options: Any,
    ) -> list[str] | dict[str, Info]:
        """Every file below a path; without a depth it is one listing, not a walk."""
        if maxdepth is not None or withdirs or not cast(str, self._strip_protocol(path)):
            found = super().find(path, maxdepth, withdirs, detail, **options)
            return cast("list[str] | dict[str, Info]", found)
        client, project, ref = self._parse(path)
        infos: list[Info] = []
        with contextlib.suppress(NotFound):
            if isinstance(ref, FileRef):
                infos = [file_info(project, client.find_file(str(ref)), ref.version, ref.set)]
        if not infos and not (isinstance(ref, FileRef) and ref.version is not None):
            directory = as_directory(ref)
            with contextlib.suppress(NotFound):
                files = client.resolve(str(directory))
                infos = [file_info(project, one, None, directory.set) for one in files]
        by_name = {info["name"]: info for info in infos}
        return by_name if detail else sorted(by_name)

    def created(self, path: str) -> Any:
        return self.info(path)["created"]

    def modified(self, path: str) -> Any:
        return self.info(path)["created"]

    def checksum(self, path: str) -> str:
        return cast(str, self.info(path)["sha256"])

    def ukey(self, path: str) -> str:
        return self.checksum(path)

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Nothing to do: a directory is there as soon as a file is in it."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Nothing to do, as for `mkdir`."""

    def rmdir(self, path: str) -> None:
        if self.isdir(path):
            raise OSError(errno.ENOTEMPTY, "the directory is not empty", path)

    def rm_file(self, path: str) -> None:
        with _os_errors(path):
            client, _, ref = self._parse(path)
            client.remove_file(str(latest(ref)))

    def rm(
        self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None
    ) -> None:
        """Take files out of listings; every version is kept."""
        for each in self.expand_path(path, maxdepth=1 if maxdepth is None else maxdepth):
            if not self.isdir(each):
                self.rm_file(each)
            elif recursive:
                with _os_errors(each):
                    client, _, ref = self._parse(each)
                    client.remove_file(str(as_directory(ref)))
            else:
                raise IsADirectoryError(errno.EISDIR, "it is a directory; add recursive", each)

    def cp_file(self, path1: str, path2: str, **_options: Any) -> None:
        """A new version with the same content: no bytes travel."""
        if self.isdir(path1):
            return
        with _os_errors(path1):
            client, project, ref = self._parse(path1)
            _, other, target = self._parse(path2)
            if project != other:
                self._copy_through(path1, path2)
                return
            client.copy_file(str(ref), str(latest(target)))

    def _copy_through(self, path1: str, path2: str) -> None:
        """Projects share no content, so a copy between two of them is read and written."""
        with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
            while chunk := source.read(8 * 1024 * 1024):
                target.write(chunk)

    def put(self, lpath: Any, rpath: Any, *args: Any, **options: Any) -> None:
        """Send local files; those of one call are one upload session."""
        if getattr(self._gathered, "files", None) is not None:
            super().put(lpath, rpath, *args, **options)
            return
        self._gathered.files = {}
        try:
            super().put(lpath, rpath, *args, **options)
            for project, files in self._gathered.files.items():
                with _os_errors(str(rpath)):
                    self.client(project).upload(files, list_up_to=0)
        finally:
            self._gathered.files = None

    def put_file(
        self, lpath: str, rpath: str, callback: Any = DEFAULT_CALLBACK, **_options: Any
    ) -> None:
        if os.path.isdir(lpath):  # noqa: PTH112
            return
        with _os_errors(rpath):
            client, project, ref = self._parse(rpath)
            target = str(latest(ref))
            gathered = getattr(self._gathered, "files", None)
            if gathered is None:
                client.upload({lpath: target}, list_up_to=0)
            else:
                gathered.setdefault(project, {})[lpath] = target

    def get_file(
        self, rpath: str, lpath: str, callback: Any = DEFAULT_CALLBACK, **_options: Any
    ) -> None:
        with _os_errors(rpath):
            if self.isdir(rpath):
                os.makedirs(lpath, exist_ok=True)  # noqa: PTH103
                return
            client, _, ref = self._parse(rpath)
            client.download(str(ref), lpath, force=True)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_options: Any
    ) -> bytes:
        with _os_errors(path):
            client, _, ref = self._parse(path)
            if start is None and end is None:
                return client.read_bytes(str(ref))
            content = client.content(str(ref))
            return content.read(*slice(start, end).indices(content.file.size)[:2])

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        with self.open(path, "xb" if mode == "create" else "wb") as file:
            file.write(value)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> _LakeFile:
        return _LakeFile(
            self,
            path,
            mode,
            block_size or "default",
            autocommit=autocommit,
            cache_options=cache_options,
            **options,
        )

    def upload_spools(self, files: list[_LakeFile]) -> None:
        """Commit written files, those of one project as one session."""
        sessions: dict[str, dict[str, str]] = {}
        for file in files:
            _, project, ref = self._parse(file.path)
            sessions.setdefault(project, {})[file.spooled()] = str(latest(ref))
        for project, pairs in sessions.items():
            with _os_errors(", ".join(pairs.values())):
                self.client(project).upload(pairs, list_up_to=0)


class _LakeFile(AbstractBufferedFile):  # type: ignore[misc]
    """Reading fetches ranges. Writing spools to a temporary file, uploaded on close."""

    def __init__(
        self, fs: AcaiFileSystem, path: str, mode: str, *args: Any, **options: Any
    ) -> None:
        self._content: Content | None = None
        self._spool: Any = None
        if mode == "rb":
            with _os_errors(path):
                client, _, ref = fs._parse(path)
                if isinstance(ref, DirectoryRef):
                    raise IsADirectoryError(errno.EISDIR, "it is a directory", path)
                self._content = client.content(str(ref))
            options["size"] = self._content.file.size
        else:
            with _os_errors(path):
                latest(fs._parse(path)[2])
            if mode == "xb" and fs.exists(path):
                raise FileExistsError(errno.EEXIST, "it exists", path)
        super().__init__(fs, path, mode, *args, **options)
        if mode == "ab" and fs.exists(path):
            self.loc = fs.info(path)["size"]

    def _fetch_range(self, start: int, end: int) -> bytes:
        assert self._content is not None
        return self._content.read(start, end)

    def _initiate_upload(self) -> None:
        self._spool = tempfile.NamedTemporaryFile(prefix="acai-", suffix=".tmp")  # noqa: SIM115
        if self.mode == "ab" and self.fs.exists(self.path):
            with self.fs.open(self.path, "rb") as before:
                while chunk := before.read(8 * 1024 * 1024):
                    self._spool.write(chunk)

    def _upload_chunk(self, final: bool = False) -> bool:
        self._spool.write(self.buffer.getvalue())
        if final and self.autocommit:
            self.commit()
        return True

    def spooled(self) -> str:
        """The name of the local file that holds what was written."""
        if not self.closed:
            self.close()
        self._spool.flush()
        return cast(str, self._spool.name)

    def commit(self) -> None:
        try:
            self._spool.flush()
            _, project, ref = self.fs._parse(self.path)
            with _os_errors(self.path):
                self.fs.client(project).upload({self._spool.name: str(latest(ref))}, list_up_to=0)
        finally:
            self.discard()

    def discard(self) -> None:
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """A block that failed wrote half a file: it is dropped."""
        if error is not None and self.mode != "rb":
            self.closed = True
            self.discard()
            return
        self.close()
