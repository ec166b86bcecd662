"""Statements about sets and their versions, and about the file versions sets are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    FromClause,
    Integer,
    LargeBinary,
    Select,
    String,
    and_,
    bindparam,
    column,
    func,
    insert,
    select,
    type_coerce,
    update,
    values,
)

from acai.model.ids import UserId
from acai.model.paths import prefix_range
from acai.model.references import SetRef
from acai.model.sets import SetVersion
from acai.stores.records import paths
from acai.stores.records.among import among, given
from acai.stores.records.creators import creator, with_creator
from acai.stores.records.database import Transaction
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables import from_microseconds, users
from acai.stores.records.tables_jobs import jobs
from acai.stores.records.tables_lake import file_versions, files, set_versions, sets

_LOOKUP = 1000  # paths in one statement
_PAGE = 10_000  # files of a directory in one statement
_NEIGHBOURS = 250


@dataclass(frozen=True, kw_only=True)
class SetRow:
    """A set version with its row id and its manifest, as the server joins it."""

    id: int
    name: str
    version: int
    root: bytes
    content: bytes
    file_count: int
    size: int
    creator: str
    created_at: datetime
    removed: bool
    job: str | None = None  # that made it

    def value(self) -> SetVersion:
        return SetVersion(**self.facts())

    def facts(self) -> dict[str, Any]:
        """What users see of it."""
        return {
            "name": self.name,
            "version": self.version,
            "file_count": self.file_count,
            "size": self.size,
            "hash": self.content.hex(),
            "creator": self.creator,
            "create_time": self.created_at,
            "id": f"set:{self.name}:{self.version}",
            "job": self.job,
            "removed": self.removed,
        }

    @property
    def ref(self) -> SetRef:
        return SetRef(name=self.name, version=self.version)


@dataclass(frozen=True, kw_only=True)
class NewVersion:
    """What is recorded of a set version, beside its name and number."""

    root: bytes
    content: bytes
    file_count: int
    size: int
    first_path: str
    last_path: str
    user: UserId
    created_at: datetime
    job_id: int | None = None


FileRow = tuple[str, int, bytes, int, int]
"""A file version as a set's manifest holds it: path, version, SHA-256, size, row id."""

_joined = set_versions.join(
    sets,
    and_(sets.c.id == set_versions.c.set_id, sets.c.project_id == set_versions.c.project_id),
)
_shown = set_versions.c.removed_at.is_(None)


_COLUMNS = ("id", "version", "root", "content", "file_count", "size", "created_at", "removed_at")


def rows() -> Select[Any]:
    """Set versions with what a SetRow has; a condition on the project is still to be added."""
    own = [set_versions.c[name] for name in _COLUMNS]
    return select(*own, sets.c.name, creator, _made_by_job(set_versions)).select_from(
        with_creator(_joined, set_versions)
    )


def _made_by_job(versions: FromClause) -> ColumnElement[str | None]:
    found = select(jobs.c.public_id).where(mine(jobs), jobs.c.id == versions.c.job_id)
    return found.correlate(versions).scalar_subquery().label("job")


def described(picked: Select[Any]) -> Select[Any]:
    """The same, for the set versions that a select of whole rows picks.

    They are picked before anything is joined, whatever a database without statistics believes
    of the tables.
    """
    first = picked.cte("picked").prefix_with("MATERIALIZED", dialect="postgresql")
    joined = first.join(
        sets, and_(sets.c.id == first.c.set_id, sets.c.project_id == first.c.project_id)
    ).outerjoin(users, and_(users.c.id == first.c.user_id, users.c.project_id == sets.c.project_id))
    own = [first.c[name] for name in _COLUMNS]
    wanted = select(*own, sets.c.name, creator, _made_by_job(first))
    return wanted.select_from(joined).where(mine(sets))


def row_of(row: Sequence[Any]) -> SetRow:
    id_, version, root, content, file_count, size, created_at, removed_at, name, made_by, job = row
    return SetRow(
        id=id_,
        name=name,
        version=version,
        root=bytes(root),
        content=bytes(content),
        file_count=file_count,
        size=size,
        creator=made_by,
        created_at=created_at,
        removed=removed_at is not None,
        job=job,
    )


@cache  # made anew, it takes longer than the database does to answer it
def _one(newest: bool) -> Select[Any]:
    statement = rows().where(mine(sets), mine(set_versions), sets.c.name == bindparam("name"))
    if newest:
        return statement.where(_shown).order_by(set_versions.c.version.desc()).limit(1)
    return statement.where(set_versions.c.version == bindparam("version"))


def find(tx: Transaction, name: str, version: int | None) -> SetRow | None:
    """One version, also a removed one; or the newest that is not removed."""
    if version is None:
        row = tx.execute(_one(True), {"name": name}).first()
    else:
        row = tx.execute(_one(False), {"name": name, "version": version}).first()
    return None if row is None else row_of(row)


@cache
def _several(dialect: str) -> Select[Any]:
    return rows().where(mine(sets), mine(set_versions), among(dialect, set_versions.c.id))


def by_ids(tx: Transaction, ids: Sequence[int]) -> dict[int, SetRow]:
    found = plain_rows(tx.execute(_several(tx.dialect), given(tx, ids)))
    at = _COLUMNS.index("created_at")
    return {
        row[0]: row_of((*row[:at], from_microseconds(row[at]), *row[at + 1 :])) for row in found
    }


def count_versions(tx: Transaction, name: str) -> int:
    """How many versions a set has had, removed ones too: also the number of the last."""
    found = tx.execute(select(sets.c.latest).where(mine(sets), sets.c.name == name)).scalar()
    return found or 0


def page(tx: Transaction, *, after: str, limit: int) -> list[SetRow]:
    """The newest visible version of every set, by name."""
    others = set_versions.alias("others")
    newest = (
        select(func.max(others.c.version))
        .where(mine(others), others.c.set_id == sets.c.id, others.c.removed_at.is_(None))
        .scalar_subquery()
    )
    found = tx.execute(
        rows()
        .where(mine(sets), mine(set_versions), sets.c.name > after)
        .where(set_versions.c.version == newest)
        .order_by(sets.c.name)
        .limit(limit)
    )
    return [row_of(row) for row in found]


def versions(tx: Transaction, name: str, *, before: int, limit: int) -> list[SetRow]:
    """A set's visible versions, newest first, from below `before`."""
    found = tx.execute(
        rows()
        .where(mine(sets), mine(set_versions), sets.c.name == name)
        .where(_shown, set_versions.c.version < before)
        .order_by(set_versions.c.version.desc())
        .limit(limit)
    )
    return [row_of(row) for row in found]


def near(tx: Transaction, name: str) -> list[str]:
    """Names before and after this one, for a message that proposes one."""
    visible = (
        select(set_versions.c.id)
        .where(mine(set_versions), set_versions.c.set_id == sets.c.id, _shown)
        .exists()
    )
    base = select(sets.c.name).where(mine(sets), visible).limit(_NEIGHBOURS)
    before = base.where(sets.c.name < name).order_by(sets.c.name.desc())
    after = base.where(sets.c.name >= name).order_by(sets.c.name)
    return [row.name for one in (before, after) for row in tx.execute(one)]


def add_version(tx: Transaction, name: str, new: NewVersion) -> SetRow:
    """Record the next version of a set. Needs the lock of `chunks.lock`."""
    version = count_versions(tx, name) + 1
    if version == 1:
        tx.execute(insert(sets).values(project_id=this_project(), name=name, latest=1))
    else:
        tx.execute(update(sets).where(mine(sets), sets.c.name == name).values(latest=version))
    set_id = tx.execute(select(sets.c.id).where(mine(sets), sets.c.name == name)).scalar_one()
    tx.execute(
        insert(set_versions).values(
            project_id=this_project(),
            set_id=set_id,
            version=version,
            root=new.root,
            content=new.content,
            file_count=new.file_count,
            size=new.size,
            first_path=new.first_path,
            last_path=new.last_path,
            user_id=new.user,
            job_id=new.job_id,
            created_at=new.created_at,
        )
    )
    made = find(tx, name, version)
    assert made is not None
    return made


def hide(tx: Transaction, name: str, version: int | None, now: datetime) -> list[SetRow]:
    """Take one version, or all, out of listings; returns those that were in them."""
    which: list[ColumnElement[bool]] = [mine(sets), mine(set_versions), sets.c.name == name, _shown]
    if version is not None:
        which.append(set_versions.c.version == version)
    gone = [
        replace(row_of(row), removed=True)
        for row in tx.execute(rows().where(*which).order_by(set_versions.c.version))
    ]
    mine_and_named = select(sets.c.id).where(mine(sets), sets.c.name == name).scalar_subquery()
    change = (
        update(set_versions)
        .where(mine(set_versions), set_versions.c.set_id == mine_and_named, _shown)
        .values(removed_at=now)
    )
    if version is not None:
        change = change.where(set_versions.c.version == version)
    tx.execute(change)
    return gone


_same_file = and_(
    file_versions.c.project_id == files.c.project_id, file_versions.c.file_id == files.c.id
)
_FILE_COLUMNS = (
    files.c.path,
    file_versions.c.version,
    type_coerce(file_versions.c.sha256, LargeBinary).label("sha256"),
    file_versions.c.size,
    file_versions.c.id,
)


def files_under(
    tx: Transaction, directory: str, *, after: str = "", limit: int | None = None
) -> Iterator[FileRow]:
    """Latest versions of the visible files under a directory, by path, read as consumed."""
    high = prefix_range(directory)[1]
    low = max(directory, after)
    left = limit
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        statement = (
            select(*_FILE_COLUMNS)
            .select_from(
                files.join(
                    file_versions, and_(_same_file, file_versions.c.version == files.c.latest)
                )
            )
            .where(
                mine(files), files.c.hidden.is_(False), paths.between(tx, files.c.path, low, high)
            )
            .order_by(*paths.ordered(tx, files.c.path))
            .limit(size)
        )
        found = plain_rows(tx.execute(statement))
        yield from found
        if len(found) < size:
            return
        low = found[-1][0]
        left = None if left is None else left - size


def latest_files(tx: Transaction, wanted: Sequence[str]) -> dict[str, FileRow]:
    """The newest versions of those of the paths that exist and are visible."""
    found: dict[str, FileRow] = {}
    for start in range(0, len(wanted), _LOOKUP):
        pairs = paths.wanted([paths.split(path) for path in wanted[start : start + _LOOKUP]])
        source = pairs.join(
            files, and_(files.c.parent == pairs.c.parent, files.c.name == pairs.c.name)
        ).join(file_versions, and_(_same_file, file_versions.c.version == files.c.latest))
        statement = (
            select(*_FILE_COLUMNS).select_from(source).where(mine(files), files.c.hidden.is_(False))
        )
        found.update((row[0], row) for row in plain_rows(tx.execute(statement)))
    return found


def file_versions_of(
    tx: Transaction, wanted: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], FileRow]:
    """These versions of these paths, as far as they exist; also of hidden files."""
    found: dict[tuple[str, int], FileRow] = {}
    for start in range(0, len(wanted), _LOOKUP):
        triples = (
            values(
                column("parent", LargeBinary),
                column("name", String),
                column("version", Integer),
                name="wanted",
            )
            .data([(*paths.split(p), v) for p, v in wanted[start : start + _LOOKUP]])
            .cte()
        )
        source = triples.join(
            files, and_(files.c.parent == triples.c.parent, files.c.name == triples.c.name)
        ).join(file_versions, and_(_same_file, file_versions.c.version == triples.c.version))
        statement = select(*_FILE_COLUMNS).select_from(source).where(mine(files))
        found.update(((row[0], row[1]), row) for row in plain_rows(tx.execute(statement)))
    return found


def plain_rows(result: CursorResult[Any]) -> list[Any]:
    """The driver's own tuples, for columns that need no conversion.

    Rows that know their names take half of the time where there are ten thousand of them,
    most of it in the garbage collector.
    """
    assert result.cursor is not None
    found = list(result.cursor.fetchall())
    result.close()
    return found
