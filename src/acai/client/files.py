"""Files, from Python: send them, fetch them, look at them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import fspath

from acai.client.base import Part
from acai.client.decode import decode
from acai.client.reading import Content, RawLakeFile
from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.content_types import content_type
from acai.client.transfer.download import Downloading
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.client.transfer.resume import resume_key, sole_use
from acai.client.transfer.sources import Local, Source, plan_sources, remote_path
from acai.client.transfer.targets import Target, Wanted
from acai.client.transfer.upload import Uploading
from acai.client.transfer.values import Downloaded, OnNote, OnProgress, Removed, Uploaded
from acai.model.errors import InvalidInput, UploadClosed, UploadIncomplete
from acai.model.files import FileVersion, Listing
from acai.model.references import parse_file_reference, parse_spec
from acai.model.sets import ResolvedFile

_PATIENCE = 60.0  # seconds that a server may be away in the middle of a transfer
_BATCH = 5000
_READ_AHEAD = 256 * 1024


class FilesPart(Part):
    def upload(
        self,
        source: Local | Sequence[Local] | Mapping[str, str],
        remote: str | None = None,
        *,
        skip_unreadable: bool = False,
        list_up_to: int = 1000,
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Uploaded:
        """Send files; they appear together, as new versions, or not at all.

        `upload("dir/", "/data/")` puts the content of a directory under `/data/`,
        `upload("a.txt", "/data/b.txt")` one file, `upload(["a", "b"], "/data/")` several, and
        `upload({"train.json": "/data/train.json"})` names each. Content that the project has
        is not sent again. An interrupted upload goes on where it was when it is repeated.
        The versions it made are in the answer, if they are no more than `list_up_to`.
        """
        sources = _sources(source, remote)
        key = resume_key(sources)
        with sole_use(key) as alone:
            for attempt_key in (key if alone else None, None):
                try:
                    done = self._upload(sources, attempt_key, skip_unreadable, on_progress, on_note)
                except (UploadClosed, UploadIncomplete):
                    # Somebody else, as the same user, went on with what we took for ours.
                    if attempt_key is None:
                        raise
                    continue
                if done.file_count > list_up_to:
                    return done
                made = self._pages(FileVersion, f"/uploads/{done.id}/files")
                return replace(done, files=tuple(made))
        raise AssertionError("unreachable")

    def _upload(
        self,
        sources: Sequence[Source],
        key: str | None,
        skip_unreadable: bool,
        on_progress: OnProgress | None,
        on_note: OnNote | None,
    ) -> Uploaded:
        calls = TransferCalls(self._session, Patience(_PATIENCE, note=on_note))
        return Uploading(
            calls,
            calls.limits(),
            sources,
            resume_key=key,
            skip_unreadable=skip_unreadable,
            meter=Meter(on_progress),
            note=on_note,
        ).run()

    def download(
        self,
        reference: str,
        local: Local,
        *,
        force: bool = False,
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Downloaded:
        """Fetch what a reference names: a file, a directory, a set (`@NAME`) or a part of one.

        Lake paths are mirrored below the directory `local`; a single file may be given its
        name instead. What is here with the right content is not fetched again, and other
        content is replaced only with `force`. An interrupted download goes on when repeated.
        """
        spec = parse_spec(reference)
        calls = TransferCalls(self._session, Patience(_PATIENCE, note=on_note))
        limits = calls.limits()
        pages = self._resolve(calls, str(spec))
        return Downloading(
            calls,
            limits,
            pages,
            Target(spec, fspath(local)),
            force=force,
            meter=Meter(on_progress),
        ).run()

    def _resolve(self, calls: TransferCalls, spec: str) -> Iterator[list[Wanted]]:
        cursor: str | None = None
        while True:
            items, cursor = calls.resolve(spec, cursor)
            yield items
            if cursor is None:
                return

    def resolve(self, reference: str) -> Iterator[ResolvedFile]:
        """The file versions that a reference names, by path."""
        return self._pages(ResolvedFile, "/resolve", {"spec": reference})

    def open(self, reference: str) -> io.BufferedReader:
        """A file of the lake, to read from as from a local one; nothing is stored here."""
        return io.BufferedReader(RawLakeFile(self.content(reference)), _READ_AHEAD)

    def read_bytes(self, reference: str) -> bytes:
        """A file's whole content, verified."""
        return self.content(reference).whole()

    def stream_bytes(self, reference: str) -> Iterator[bytes]:
        """A file's content in pieces; the last comes only once the whole is verified."""
        return self.content(reference).stream()

    def content(self, reference: str) -> Content:
        """A file, to read ranges of it."""
        spec = parse_file_reference(reference)
        calls = TransferCalls(self._session, Patience(_PATIENCE, note=None))
        return Content(calls, next(self.resolve(str(spec))))

    def list_files(self, path: str = "/") -> Iterator[Listing]:
        """What lies right in a directory, as it is asked for; directories end in `/`."""
        return self._pages(Listing, "/files", {"path": _directory(path)})

    def find_file(self, reference: str) -> FileVersion:
        """One version of a file: the latest, or the one that the reference names."""
        ref = parse_file_reference(reference)
        version = ref.version
        if ref.set is not None:
            version = next(self.resolve(str(ref))).version
        query = {"path": ref.path, "version": version}
        return decode(FileVersion, self._session.call("GET", "/files/version", query=query))

    def file_versions(self, path: str) -> Iterator[FileVersion]:
        """A file's versions, newest first."""
        return self._pages(FileVersion, "/files/versions", {"path": remote_path(path)})

    def remove_file(self, path: str) -> Removed:
        """Take a file, or all under a directory, out of listings. Every version is kept."""
        query = {"path": remote_path(path)}
        return decode(Removed, self._session.call("DELETE", "/files", query=query))

    def copy_file(self, reference: str, path: str) -> FileVersion:
        """Make a new version at `path` with the content of `reference`; no bytes travel."""
        return self._copy_files([(self.find_file(reference), remote_path(path))])[0]

    def _copy_files(
        self, pairs: Sequence[tuple[ResolvedFile | FileVersion, str]]
    ) -> list[FileVersion]:
        calls = TransferCalls(self._session, Patience(_PATIENCE, note=None))
        session = calls.open(None)
        for start in range(0, len(pairs), _BATCH):
            calls.announce(
                session.id,
                [
                    {
                        "path": target,
                        "size": file.size,
                        "sha256": file.hash,
                        "content_type": content_type(target),
                    }
                    for file, target in pairs[start : start + _BATCH]
                ],
            )
        calls.commit(session.id, len(pairs))
        return list(self._pages(FileVersion, f"/uploads/{session.id}/files"))


def _with_slash(local: Local) -> str:
    return fspath(local)


def _directory(path: str) -> str:
    found = remote_path(path)
    return found if found.endswith("/") else f"{found}/"


def _sources(
    source: Local | Sequence[Local] | Mapping[str, str], remote: str | None
) -> list[Source]:
    if isinstance(source, Mapping):
        if remote is not None:
            raise InvalidInput("a mapping names every target; leave out the second argument")
        return [one for local, target in source.items() for one in plan_sources([local], target)]
    if remote is None:
        raise InvalidInput("say where to, such as upload('dir/', '/data/')")
    many = [source] if isinstance(source, str) or not isinstance(source, Sequence) else source
    return plan_sources(many, remote)
