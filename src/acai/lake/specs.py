"""What a reference means: a spec to the file versions that it names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from acai.lake import tree
from acai.lake.combine import FromDirectory, FromFile, FromSet, Source
from acai.lake.files import Files
from acai.model.errors import FileNotFound, SetNotFound, VersionNotFound
from acai.model.identity import Principal
from acai.model.paths import parent
from acai.model.references import DirectoryRef, FileRef, SetRef, escape_path, parse_spec
from acai.model.sets import ResolvedFile
from acai.stores.records import sets as records
from acai.stores.records.chunks import Chunks
from acai.stores.records.database import Database, Transaction
from acai.stores.records.files import VersionRow


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What specs mean at one moment."""

    sources: Sequence[Source]  # one for each spec, in order
    origins: Sequence[records.SetRow]  # the set versions they draw on, each once
    followed: Sequence[tuple[SetRef, records.SetRow]]  # those that were named without a version


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
                resolved(row[0], entry_of(row))
                for row in records.files_under(tx, ref.directory, after=after, limit=limit)
            ]
        if not found and not after:
            raise nothing_under(ref)
        return 0, found

    def version_in_set(self, tx: Transaction, ref: FileRef) -> int:
        """The version of a file that the set in its reference holds."""
        assert ref.set is not None
        return _in_set(tx, ref, find_set(tx, ref.set), "", 1)[0].version

    def plan(self, tx: Transaction, store: tree.ChunkStore, specs: Sequence[str]) -> Plan:
        """The sources that specs mean, in one reading transaction; each is there and not empty.

        However many specs there are, their files are looked up together.
        """
        refs = [parse_spec(spec) for spec in specs]
        origins = {ref.set: find_set(tx, ref.set) for ref in refs if ref.set is not None}
        entries = self._named(tx, store, [r for r in refs if isinstance(r, FileRef)], origins)
        sources: list[Source] = []
        for ref in refs:
            if isinstance(ref, FileRef):
                sources.append(
                    FromFile(label=_label(ref, origins), path=ref.path, entry=entries[ref])
                )
            elif ref.set is not None:
                sources.append(_part(store, ref, origins[ref.set]))
            else:
                sources.append(_directory(tx, ref))
        distinct = {row.id: row for row in origins.values()}
        return Plan(
            sources=sources,
            origins=[distinct[id_] for id_ in sorted(distinct)],
            followed=[(ref, row) for ref, row in origins.items() if ref.version is None],
        )

    def latest(self, tx: Transaction, paths: Collection[str]) -> Mapping[str, tree.Entry]:
        """The newest versions of those of the paths that exist and are visible."""
        found = records.latest_files(tx, list(paths))
        return {path: entry_of(row) for path, row in found.items()}

    def _named(
        self,
        tx: Transaction,
        store: tree.ChunkStore,
        refs: Sequence[FileRef],
        origins: Mapping[SetRef, records.SetRow],
    ) -> dict[FileRef, tree.Entry]:
        found: dict[FileRef, tree.Entry] = {}
        newest = self.latest(tx, {r.path for r in refs if r.version is None and r.set is None})
        numbered = records.file_versions_of(
            tx, sorted({(r.path, r.version) for r in refs if r.version is not None})
        )
        inside = {
            ref: tree.get(store, root_of(row), [r.path for r in refs if r.set == ref])
            for ref, row in origins.items()
        }
        for ref in refs:
            if ref.set is not None:
                entry = inside[ref.set].get(ref.path)
                if entry is None:
                    raise not_in_set(store, ref, origins[ref.set])
            elif ref.version is None:
                entry = newest.get(ref.path)
            else:
                row = numbered.get((ref.path, ref.version))
                entry = None if row is None else entry_of(row)
            # What is missing is looked up once more for the words of its error.
            found[ref] = entry or _entry(self._files.row(tx, ref.path, ref.version))
        return found


def _label(ref: FileRef, origins: Mapping[SetRef, records.SetRow]) -> str:
    if ref.set is None:
        return str(ref)
    return str(FileRef(path=ref.path, set=origins[ref.set].ref))


def _entry(row: VersionRow) -> tree.Entry:
    return tree.Entry(row.version, bytes.fromhex(row.sha256), row.size, row.id)


def _part(store: tree.ChunkStore, ref: DirectoryRef, origin: records.SetRow) -> FromSet:
    root = root_of(origin)
    if tree.totals(store, root, ref.directory).file_count == 0:
        raise nothing_under(ref, origin)
    return FromSet(label=str(origin.ref), root=root, directory=ref.directory)


def _directory(tx: Transaction, ref: DirectoryRef) -> FromDirectory:
    def stream() -> Iterator[tuple[str, tree.Entry]]:
        return ((row[0], entry_of(row)) for row in records.files_under(tx, ref.directory))

    if not any(True for _ in records.files_under(tx, ref.directory, limit=1)):
        raise nothing_under(ref)
    return FromDirectory(label=str(ref), directory=ref.directory, files=stream)


def _in_set(
    tx: Transaction, ref: FileRef | DirectoryRef, origin: records.SetRow, after: str, limit: int
) -> Sequence[ResolvedFile]:
    chunks, root = Chunks(tx), root_of(origin)
    if isinstance(ref, FileRef):
        entry = tree.get(chunks, root, [ref.path]).get(ref.path)
        if entry is None:
            raise not_in_set(chunks, ref, origin)
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
    return tree.Entry._make(row[1:])  # the same fields, but for the path


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


def not_in_set(store: tree.ChunkStore, ref: FileRef, origin: records.SetRow) -> FileNotFound:
    beside = tree.iterate(store, root_of(origin), prefix=parent(ref.path), limit=200)
    near = get_close_matches(ref.path, [path for path, _ in beside], 1)
    hint = f"; did you mean {escape_path(near[0])}@{origin.ref}?" if near else ""
    return FileNotFound(
        f"set {origin.ref} does not hold {ref.path}{hint}",
        path=ref.path,
        set=str(origin.ref),
        near=near,
    )
