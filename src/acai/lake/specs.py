"""What a reference means: a spec to the file versions that it names."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

from acai.lake import tree
from acai.lake.files import Files
from acai.model.errors import FileNotFound, SetNotFound, VersionNotFound
from acai.model.identity import Principal
from acai.model.references import DirectoryRef, FileRef, SetRef, escape_path, parse_spec
from acai.model.sets import ResolvedFile
from acai.stores.records import sets as records
from acai.stores.records.chunks import Chunks
from acai.stores.records.database import Database, Transaction


class Specs:
    def __init__(self, database: Database, files: Files) -> None:
        self._database = database
        self._files = files

    def resolve(
        self, caller: Principal, spec: str, *, at: int, after: str, limit: int
    ) -> tuple[int, Sequence[ResolvedFile]]:
        """The file versions that a spec names, by path, from beyond `after`.

        Also returns the set version they come from, or 0. Given back as `at` it holds on to
        that version, so that a listing in pages is of one version throughout.

        Raises FileNotFound, SetNotFound or VersionNotFound; also for a directory or a part of
        a set in which there is nothing.
        """
        ref = parse_spec(spec)
        with self._database.read(caller.project) as tx:
            if ref.set is not None:
                origin = find_set(tx, SetRef(name=ref.set.name, version=at or ref.set.version))
                return origin.version, _in_set(tx, ref, origin, after, limit)
            if isinstance(ref, FileRef):
                row = self._files.row(tx, ref.path, ref.version)
                one = ResolvedFile(
                    path=row.path, version=row.version, size=row.size, hash=row.sha256
                )
                return 0, [] if after else [one]
            found = [
                resolved(row.path, entry_of(row))
                for row in records.files_under(tx, ref.directory, after=after, limit=limit)
            ]
        if not found and not after:
            raise nothing_under(ref)
        return 0, found


def _in_set(
    tx: Transaction, ref: FileRef | DirectoryRef, origin: records.SetRow, after: str, limit: int
) -> Sequence[ResolvedFile]:
    chunks, root = Chunks(tx), root_of(origin)
    if isinstance(ref, FileRef):
        entry = tree.get(chunks, root, [ref.path]).get(ref.path)
        if entry is None:
            raise not_in_set(tx, ref, origin)
        return [] if after else [resolved(ref.path, entry)]
    found = tree.iterate(chunks, root, prefix=ref.directory, after=after or None, limit=limit)
    listed = [resolved(path, entry) for path, entry in found]
    if not listed and not after:
        raise nothing_under(ref, origin)
    return listed


def find_set(tx: Transaction, ref: SetRef) -> records.SetRow:
    """The version that a reference names; without a version, the newest one not removed.

    Raises SetNotFound with the nearest name, or VersionNotFound with the versions there are.
    """
    found = records.find(tx, ref.name, ref.version)
    if found is not None:
        return found
    count = records.count_versions(tx, ref.name)
    if count == 0:
        near = get_close_matches(ref.name, records.near(tx, ref.name), 1)
        hint = f"; did you mean {near[0]}?" if near else "; see `acai set ls`"
        raise SetNotFound(f"there is no set {ref.name}{hint}", name=ref.name, near=near)
    if ref.version is None:
        raise SetNotFound(
            f"set {ref.name} was removed; its versions are kept: name one,"
            f" such as {ref.name}:{count}",
            name=ref.name,
            last=count,
        )
    there = "only version 1" if count == 1 else f"versions 1 to {count}"
    raise VersionNotFound(
        f"set {ref.name} has no version {ref.version}; it has {there}",
        name=ref.name,
        first=1,
        last=count,
    )


def root_of(row: records.SetRow) -> tree.Root:
    return tree.Root(row.root, row.content, row.file_count, row.size)


def entry_of(row: records.FileRow) -> tree.Entry:
    return tree.Entry(row.version, row.sha256, row.size, row.id)


def resolved(path: str, entry: tree.Entry) -> ResolvedFile:
    return ResolvedFile(path=path, version=entry.version, size=entry.size, hash=entry.digest)


def nothing_under(ref: DirectoryRef, origin: records.SetRow | None = None) -> FileNotFound:
    if origin is not None:
        return FileNotFound(
            f"set {origin.ref} holds nothing under {ref.directory};"
            f" see `acai set show {origin.ref} --files`",
            path=ref.directory,
            set=str(origin.ref),
        )
    return FileNotFound(
        f"there is no file under {ref.directory}; see `acai file ls`", path=ref.directory
    )


def not_in_set(tx: Transaction, ref: FileRef, origin: records.SetRow) -> FileNotFound:
    beside = tree.iterate(
        Chunks(tx), root_of(origin), prefix=ref.path[: ref.path.rindex("/") + 1], limit=200
    )
    near = get_close_matches(ref.path, [path for path, _ in islice(beside, 200)], 1)
    hint = f"; did you mean {escape_path(near[0])}@{origin.ref}?" if near else ""
    return FileNotFound(
        f"set {origin.ref} does not hold {ref.path}{hint}",
        path=ref.path,
        set=str(origin.ref),
        near=near,
    )
