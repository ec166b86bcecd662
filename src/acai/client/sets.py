"""Sets, from Python: make them, look into them, compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from acai.client.base import Part
from acai.client.decode import decode
from acai.model.references import SetRef, parse_set_reference
from acai.model.sets import (
    DiffSummary,
    FileChange,
    ResolvedFile,
    SetTotals,
    SetVersion,
)

AnySet = str | SetRef | SetVersion


def set_ref(which: AnySet) -> SetRef:
    """`NAME`, `NAME:VERSION`, or a set that some call returned."""
    if isinstance(which, SetVersion):
        return which.ref
    return parse_set_reference(which) if isinstance(which, str) else which


def version_path(which: AnySet) -> str:
    """Where the API keeps a set version."""
    ref = set_ref(which)
    return f"/sets/{quote(ref.name, safe='')}/versions/{ref.version or 'latest'}"


class SetsPart(Part):
    def create_file_set(
        self, name: str, specs: str | Sequence[str], prefer: str | None = None
    ) -> SetVersion:
        """Make the next version of a set from files, directories and other sets, in order.

        A file that is named, or a directory, replaces what sets before it gave. Where sets
        disagree on a path it is an error (`path_conflict`), unless `prefer` is `"last"`.
        """
        body = {
            "name": name,
            "specs": [specs] if isinstance(specs, str) else list(specs),
            "prefer": prefer,
        }
        return decode(SetVersion, self._session.call("POST", "/sets", body))

    def list_sets(self) -> Iterator[SetVersion]:
        """The latest version of every set, by name."""
        return self._pages(SetVersion, "/sets")

    def set_versions(self, name: str) -> Iterator[SetVersion]:
        """A set's versions, newest first, without the removed ones."""
        return self._pages(SetVersion, f"/sets/{quote(name, safe='')}/versions")

    def get_set(self, which: AnySet) -> SetVersion:
        """One version, the latest by default; a removed one is still found by its number."""
        return decode(SetVersion, self._session.call("GET", version_path(which)))

    def set_files(self, which: AnySet, prefix: str = "/") -> Iterator[ResolvedFile]:
        """The files of a set whose path begins with `prefix`, by path."""
        return self._pages(ResolvedFile, f"{version_path(which)}/files", {"prefix": prefix})

    def set_totals(self, which: AnySet, prefix: str = "/") -> SetTotals:
        """Number and size of the files whose path begins with `prefix`, at once."""
        found = self._session.call("GET", f"{version_path(which)}/totals", query={"prefix": prefix})
        return decode(SetTotals, found)

    def diff_sets(self, before: AnySet, after: AnySet) -> Iterator[FileChange]:
        """The paths on which two sets differ, in order."""
        old, new = self.get_set(before), self.get_set(after)
        query = {"before": str(old.ref), "after": str(new.ref)}
        return self._pages(FileChange, "/sets/diff", query)

    def diff_summary(self, before: AnySet, after: AnySet) -> DiffSummary:
        """On how many paths two sets differ."""
        query = {"before": str(set_ref(before)), "after": str(set_ref(after))}
        return decode(DiffSummary, self._session.call("GET", "/sets/diff/summary", query=query))

    def remove_set(self, which: AnySet) -> list[SetVersion]:
        """Take a version, or with a bare name all versions, out of listings; they are kept.

        Returns what was removed.
        """
        ref = set_ref(which)
        whole = f"/sets/{quote(ref.name, safe='')}"
        path = whole if ref.version is None else version_path(ref)
        return decode(list[SetVersion], self._session.call("DELETE", path)["removed"])
