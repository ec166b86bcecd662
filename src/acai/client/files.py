"""Files, from Python: send them, fetch them, look at them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acai.client.base import Part
from acai.client.decode import decode
from acai.client.paths import bare_path
from acai.model.files import FileVersion, Listing
from acai.model.references import parse_file_reference
from acai.model.sets import ResolvedFile

if TYPE_CHECKING:  # the transfer engine is loaded when the first file moves
    from acai.client.reading import Content
    from acai.client.transfer.sources import Local
    from acai.client.transfer.values import Downloaded, OnNote, OnProgress, Removed, Uploaded

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
        from acai.client.transfer import running

        done = running.upload(
            self._session,
            source,
            remote,
            skip_unreadable=skip_unreadable,
            on_progress=on_progress,
            on_note=on_note,
        )
        if done.file_count > list_up_to:
            return done
        made = self._pages(FileVersion, f"/uploads/{done.id}/files")
        return replace(done, files=tuple(made))

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
        from acai.client.transfer import running

        return running.download(
            self._session,
            reference,
            local,
            force=force,
            on_progress=on_progress,
            on_note=on_note,
        )

    def resolve(self, reference: str) -> Iterator[ResolvedFile]:
        """The file versions that a reference names, by path."""
        return self._pages(ResolvedFile, "/resolve", {"spec": reference})

    def open(self, reference: str) -> io.BufferedReader:
        """A file of the lake, to read from as from a local one; nothing is stored here."""
        from acai.client.reading import RawLakeFile

        return io.BufferedReader(RawLakeFile(self.content(reference)), _READ_AHEAD)

    def read_bytes(self, reference: str) -> bytes:
        """A file's whole content, verified."""
        return self.content(reference).whole()

    def stream_bytes(self, reference: str) -> Iterator[bytes]:
        """A file's content in pieces; the last comes only once the whole is verified."""
        return self.content(reference).stream()

    def content(self, reference: str) -> Content:
        """A file, to read ranges of it."""
        from acai.client.transfer import running

        spec = parse_file_reference(reference)
        return running.content(self._session, next(self.resolve(str(spec))))

    def list_files(self, path: str = "/") -> Iterator[Listing]:
        """What lies right in a directory, as it is asked for; directories end in `/`."""
        found = bare_path(path)
        directory = found if found.endswith("/") else f"{found}/"
        return self._pages(Listing, "/files", {"path": directory})

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
        return self._pages(FileVersion, "/files/versions", {"path": bare_path(path)})

    def remove_file(self, path: str) -> Removed:
        """Take a file, or all under a directory, out of listings. Every version is kept."""
        from acai.client.transfer.values import Removed

        answer = self._session.call("DELETE", "/files", query={"path": bare_path(path)})
        return decode(Removed, answer)

    def copy_file(self, reference: str, path: str) -> FileVersion:
        """Make a new version at `path` with the content of `reference`; no bytes travel."""
        from acai.client.transfer import running

        made = running.copy(self._session, [(self.find_file(reference), bare_path(path))])
        return next(self._pages(FileVersion, f"/uploads/{made}/files"))
