"""The lake's side of jobs: the versions that they read, and the sets that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import PurePosixPath

from acai.lake import collisions, tree
from acai.lake.combine import FromSet, combine
from acai.lake.sets import Sets, path_at
from acai.lake.specs import Specs, find_set, nothing_under, root_of
from acai.lake.uploads import Uploads
from acai.model.assignments import CodePlace, Pinned, PinnedCode, PinnedSet
from acai.model.changes import SETS, Tell, tell_nobody
from acai.model.errors import PathConflict
from acai.model.identity import Principal
from acai.model.provenance import Action
from acai.model.references import (
    DirectoryRef,
    FileRef,
    SetRef,
    parse_set_reference,
    parse_spec,
)
from acai.stores.records import chunks as chunk_records
from acai.stores.records import provenance as edge_records
from acai.stores.records import sets as records
from acai.stores.records.chunks import BuildChunks, Chunks
from acai.stores.records.database import Database, Transaction

_PAGE = 10_000
_LOOKUP = 512


class JobData:
    def __init__(
        self,
        database: Database,
        specs: Specs,
        sets: Sets,
        uploads: Uploads,
        clock: Callable[[], datetime],
        tell: Tell = tell_nobody,
    ) -> None:
        self._database = database
        self._specs = specs
        self._sets = sets
        self._uploads = uploads
        self._clock = clock
        self._tell = tell

    def pin(self, caller: Principal, inputs: Sequence[str], code: str | None) -> Pinned:
        """The versions that references mean now; each exists, and no two claim one path."""
        wanted = [parse_set_reference(one) for one in inputs]
        place = None if code is None else self._code_reference(caller, code)
        with self._database.read(caller.project) as tx:
            rows = list({row.id: row for row in (find_set(tx, ref) for ref in wanted)}.values())
            if len(rows) > 1:
                self._check_together(caller, tx, rows)
            pinned = None if place is None else self._pin_code(tx, place, rows)
        return Pinned(
            inputs=tuple(
                PinnedSet(id=row.id, ref=str(row.ref), content=row.content.hex()) for row in rows
            ),
            code=pinned,
        )

    def _code_reference(self, caller: Principal, code: str) -> FileRef | DirectoryRef:
        """Where code lies; a directory of latest versions becomes a set, to have a version."""
        if not code.startswith(("/", "@")):
            return DirectoryRef(directory="/", set=parse_set_reference(code))
        ref = parse_spec(code)
        if isinstance(ref, DirectoryRef) and ref.set is None:
            name = f"{PurePosixPath(ref.directory).name or 'all'}-code"
            made = self._sets.create(caller, name, [code])
            return DirectoryRef(
                directory=ref.directory, set=SetRef(name=made.name, version=made.version)
            )
        return ref

    def _check_together(
        self, caller: Principal, tx: Transaction, rows: Sequence[records.SetRow]
    ) -> None:
        store = BuildChunks(self._database, caller.project, tx, self._clock)
        combine(
            store,
            [FromSet(label=str(row.ref), root=root_of(row), directory="/") for row in rows],
            prefer_last=False,
            latest=lambda paths: self._specs.latest(tx, paths),
        )

    def _pin_code(
        self, tx: Transaction, ref: FileRef | DirectoryRef, inputs: Sequence[records.SetRow]
    ) -> PinnedCode:
        if ref.set is None:
            assert isinstance(ref, FileRef)
            plan = self._specs.plan(tx, Chunks(tx), [str(ref)])
            (source,) = plan.sources
            entry = source.entry  # type: ignore[union-attr]
            pinned = str(FileRef(path=ref.path, version=entry.version))
            _refuse_shared(tx, [f"/{PurePosixPath(ref.path).name}"], inputs, pinned)
            return PinnedCode(
                place=CodePlace(spec=pinned, strip=_parent(ref.path)),
                set_id=None,
                content=entry.digest,
            )
        row = find_set(tx, ref.set)
        directory = ref.directory if isinstance(ref, DirectoryRef) else ref.path
        paths = (path for path, _ in tree.iterate(Chunks(tx), root_of(row), prefix=directory))
        strip = directory if isinstance(ref, DirectoryRef) else _parent(ref.path)
        first = next(paths, None)
        if first is None or (isinstance(ref, FileRef) and first != ref.path):
            raise nothing_under(DirectoryRef(directory=strip), row)
        pinned = str(
            DirectoryRef(directory=directory, set=row.ref)
            if isinstance(ref, DirectoryRef)
            else FileRef(path=ref.path, set=row.ref)
        )
        rest: Iterator[str] = iter(()) if isinstance(ref, FileRef) else paths
        _refuse_shared(tx, _stripped(first, rest, strip), inputs, pinned)
        return PinnedCode(
            place=CodePlace(spec=pinned, strip=strip), set_id=row.id, content=row.content.hex()
        )

    def make_output(
        self,
        caller: Principal,
        *,
        job_id: int,
        name: str,
        upload: str,
        file_count: int,
        sources: Sequence[int],
        finish: Callable[[Transaction, int, str], None],
    ) -> None:
        """Commit an upload, and make the next version of a set of just its files.

        The set, its edges and what `finish` writes appear in one transaction. Both halves can
        be repeated after a crash: a commit is made once, and a set only with `finish`.
        """
        self._uploads.commit(caller, upload, file_count)
        now = self._clock()
        with self._database.read(caller.project) as snapshot:
            store = BuildChunks(self._database, caller.project, snapshot, self._clock)
            entries = sorted(self._entries(caller, upload))
            root = tree.build(store, collisions.checked(iter(entries)))
            new = records.NewVersion(
                root=root.id,
                content=root.content,
                file_count=root.file_count,
                size=root.size,
                first_path=path_at(store, root, 0),
                last_path=path_at(store, root, root.file_count - 1),
                user=caller.user_id,
                created_at=now,
                job_id=job_id,
            )
        with self._database.write(caller.project) as tx:
            chunk_records.lock(tx)
            store.publish(tx)
            made = records.add_version(tx, name, new)
            edge_records.add(tx, made.id, sources, now, action=Action.JOB, job_id=job_id)
            finish(tx, made.id, str(made.ref))
        self._tell(caller.project, SETS)

    def _entries(self, caller: Principal, upload: str) -> Iterator[tuple[str, tree.Entry]]:
        after = 0
        while True:
            page = self._uploads.files(caller, upload, after=after, limit=_PAGE)
            for row_id, file in page:
                yield (
                    file.path,
                    tree.Entry(file.version, bytes.fromhex(file.hash), file.size, row_id),
                )
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    def is_there(self, tx: Transaction, set_id: int) -> str | None:
        row = records.by_ids(tx, [set_id]).get(set_id)
        return None if row is None or row.removed else str(row.ref)

    def references(self, tx: Transaction, set_ids: Sequence[int]) -> dict[int, str]:
        if not set_ids:
            return {}
        return {row.id: str(row.ref) for row in records.by_ids(tx, list(set_ids)).values()}


def _parent(path: str) -> str:
    return path[: path.rindex("/") + 1]


def _stripped(first: str, rest: Iterator[str], strip: str) -> Iterator[str]:
    yield f"/{first[len(strip) :]}"
    for path in rest:
        yield f"/{path[len(strip) :]}"


def _refuse_shared(
    tx: Transaction,
    code_paths: Iterator[str] | Sequence[str],
    inputs: Sequence[records.SetRow],
    code: str,
) -> None:
    """Raise PathConflict for a path of the code that an input has too."""
    stream = iter(code_paths)
    while inputs and (batch := list(islice(stream, _LOOKUP))):
        for row in inputs:
            shared = tree.get(Chunks(tx), root_of(row), batch)
            if shared:
                path = min(shared)
                raise PathConflict(
                    f"{path[1:]} is both in the input {row.ref} and in the code {code};"
                    " rename one of the two",
                    path=path,
                )
