"""One database, SQLite or PostgreSQL: connections, transactions, and foreign errors."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NewType

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Engine,
    LargeBinary,
    Table,
    any_,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    DBAPIError,
    InvalidatePoolError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.sql.expression import Executable

from acai.model.errors import InvalidInput, InvalidSetting, StorageFull, Unavailable
from acai.model.ids import ProjectId
from acai.model.query.matcher import compile_pattern
from acai.stores.records import scope

Params = Mapping[str, Any]
PlatformWide = NewType("PlatformWide", str)
PLATFORM = PlatformWide("platform")  # a transaction outside any project; says so at the call

_CHECKED_LIMIT = 4096
_SQLITE_PATIENCE = 30.0  # seconds to wait for another writer
_TRUSTED_REST = 1.0  # seconds for which a resting connection is taken to be still there
_COPY_FROM = 64  # rows from which COPY beats a multi-row INSERT


class Transaction:
    """What record modules run statements on. In a project, every statement is scoped to it."""

    def __init__(self, connection: Connection, project: ProjectId | None) -> None:
        self._connection = connection
        self._project = project

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`, for the few statements that differ."""
        return self._connection.dialect.name

    @property
    def engine(self) -> Engine:
        """The database it is in, as what one remembers of a database is kept by."""
        return self._connection.engine

    @property
    def project(self) -> ProjectId:
        assert self._project is not None, "not in a project"
        return self._project

    def execute(
        self, statement: Executable, params: Params | Sequence[Params] | None = None
    ) -> CursorResult[Any]:
        if self._project is None:
            return self._connection.execute(statement, params)
        _check_once(statement)
        if params:
            _check_params(params)
        own = {scope.PARAMETER: self._project}
        if params is None:
            return self._connection.execute(statement, own)
        if isinstance(params, Mapping):
            return self._connection.execute(statement, {**params, **own})
        return self._connection.execute(statement, [{**row, **own} for row in params])

    def insert(self, table: Table, rows: Iterable[Params]) -> None:
        """Insert many rows at the database's best rate. In a project, they become its own."""
        batch = self._own(table, rows)
        if not batch:
            return
        if self.dialect == "postgresql" and len(batch) >= _COPY_FROM:
            self._copy(table, batch)
        else:
            self._many(insert(table), table, batch)

    def merge(self, table: Table, rows: Iterable[Params], *, replace: bool) -> None:
        """Insert many rows; one whose primary key exists is replaced, or else left alone.

        Within one call, no two rows may have the same key.
        """
        batch = self._own(table, rows)
        if not batch:
            return
        keys = list(table.primary_key.columns.keys())
        if self.dialect == "sqlite":
            statement = _on_conflict(sqlite.insert(table), keys, batch[0], replace)
            self._many(statement, table, batch)
            return
        names = list(batch[0])
        arrays = [
            func.unnest(bindparam(name, type_=postgresql.ARRAY(table.c[name].type)))
            for name in names
        ]
        from_arrays = postgresql.insert(table).from_select(names, select(*arrays))
        compiled = _on_conflict(from_arrays, keys, batch[0], replace).compile(
            dialect=self._connection.dialect
        )
        columns = {
            name: [row[name] if convert is None else convert(row[name]) for row in batch]
            for name, convert in zip(names, self._processors(table, names), strict=True)
        }
        self._connection.exec_driver_sql(str(compiled), columns)

    def insert_missing(
        self, table: Table, rows: Iterable[Params], *, unique: Sequence[str]
    ) -> None:
        """Insert a few rows; one that a unique constraint has already is left alone."""
        batch = self._own(table, rows)
        make = sqlite.insert if self.dialect == "sqlite" else postgresql.insert
        statement = make(table).on_conflict_do_nothing(index_elements=list(unique))
        self._connection.execute(statement, batch)

    def one_of(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        """`column IN values`, for thousands of values."""
        if self.dialect == "sqlite":
            as_bytes = _fixed_bytes(column, self._connection.dialect)
            return column.in_(values if as_bytes is None else _slices(values, *as_bytes))
        return column == any_(literal(list(values), postgresql.ARRAY(column.type)))

    def analyze(self, *tables: Table) -> None:
        """Tell PostgreSQL how large these tables have become, within this transaction.

        Its planner believes a table that was just filled to be empty, and would join it row
        by row. SQLite plans by the indexes alone and needs no telling.
        """
        if self.dialect == "postgresql":
            for table in tables:
                self._connection.exec_driver_sql(f'ANALYZE "{table.name}"')

    def _own(self, table: Table, rows: Iterable[Params]) -> list[Params]:
        if self._project is None or "project_id" not in table.c:
            return list(rows)
        return [{**row, "project_id": self._project} for row in rows]

    def _processors(self, table: Table, names: Sequence[str]) -> list[Any]:
        dialect = self._connection.dialect
        return [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]

    def _many(self, statement: Any, table: Table, batch: Sequence[Params]) -> None:
        """Run an insert for every row, converting values a column at a time.

        A third of the time that SQLAlchemy takes to look at each value of each row.
        """
        names = list(batch[0])
        compiled = statement.compile(dialect=self._connection.dialect, column_keys=names)
        if not compiled.positiontup or len(compiled.positiontup) != len(names):
            self._connection.execute(statement, batch)
            return
        columns = []
        for name, convert in zip(
            compiled.positiontup, self._processors(table, compiled.positiontup), strict=True
        ):
            values = (row[name] for row in batch)
            columns.append(list(map(convert, values)) if convert else list(values))
        self._connection.exec_driver_sql(str(compiled), list(zip(*columns, strict=True)))

    def _copy(self, table: Table, batch: Sequence[Params]) -> None:
        names = list(batch[0])
        dialect = self._connection.dialect
        process = self._processors(table, names)
        columns = ", ".join(f'"{name}"' for name in names)
        command = f'COPY "{table.name}" ({columns}) FROM STDIN'
        foreign: type[Exception] = dialect.loaded_dbapi.Error
        cursor: Any = self._connection.connection.cursor()
        try:
            with cursor, cursor.copy(command) as copy:
                for row in batch:
                    copy.write_row(
                        [
                            convert(row[name]) if convert else row[name]
                            for name, convert in zip(names, process, strict=True)
                        ]
                    )
        except foreign as error:
            # The same exception that an INSERT of these rows would have raised.
            raise DBAPIError.instance(
                command, None, error, foreign, hide_parameters=True, dialect=dialect
            ) from error


def _fixed_bytes(column: ColumnElement[Any], dialect: Any) -> tuple[int, Any] | None:
    """How long the column's values are and how they become bytes, if all are equally long."""
    stored = column.type.dialect_impl(dialect)
    length = getattr(getattr(stored, "impl", None), "length", None)
    if length is None or not isinstance(getattr(stored, "impl", None), LargeBinary):
        return None
    return length, stored.bind_processor(dialect)


def _slices(values: Sequence[Any], length: int, to_bytes: Any) -> Any:
    """The values as a query that cuts them out of one parameter.

    A list of parameters is expanded anew for every call, at 10 µs a value.
    """
    joined = literal(b"".join(bytes(to_bytes(value)) for value in values), LargeBinary())
    at = select(literal(1).label("at")).cte("slices", recursive=True)
    at = at.union_all(select(at.c.at + length).where(at.c.at + length < func.length(joined)))
    return select(func.substr(joined, at.c.at, length)).where(func.length(joined) > 0)


def _on_conflict(statement: Any, keys: list[str], row: Params, replace: bool) -> Any:
    if not replace:
        return statement.on_conflict_do_nothing(index_elements=keys)
    changed = {name: statement.excluded[name] for name in row if name not in keys}
    # A key without the project may be another project's, whose row is left alone.
    own = None
    if scope.COLUMN in changed:
        own = statement.table.c.project_id == statement.excluded.project_id
    return statement.on_conflict_do_update(index_elements=keys, set_=changed, where=own)


_checked: dict[Any, None] = {}
_constants: weakref.WeakSet[Executable] = weakref.WeakSet()  # statements that passed themselves


def _check_params(params: Params | Sequence[Params]) -> None:
    """A parameter named like the column would become its value in an insert or update."""
    rows = [params] if isinstance(params, Mapping) else params
    if any(scope.COLUMN in row for row in rows):
        raise scope.UnscopedStatement("project_id is given by the transaction, not as a parameter")


def _check_once(statement: Executable) -> None:
    """Check a statement's scope, remembering the statements and the shapes that passed."""
    if statement in _constants:
        return
    cache_key = statement._generate_cache_key()  # type: ignore[attr-defined]
    if cache_key is None:
        scope.check(statement)
        return
    _constants.add(statement)
    if cache_key.key in _checked:
        return
    try:
        scope.check(statement)
    except BaseException:
        _constants.discard(statement)
        raise
    if len(_checked) >= _CHECKED_LIMIT:
        _checked.clear()
    _checked[cache_key.key] = None


class Database:
    """Thread-safe. Writers on SQLite take turns; on PostgreSQL rows are locked by statement."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    @contextmanager
    def read(self, where: ProjectId | PlatformWide) -> Iterator[Transaction]:
        """A consistent view; nothing written in it is kept."""
        with translated(), self.engine.connect() as connection:
            if self.dialect == "postgresql":
                connection = connection.execution_options(  # noqa: PLW2901
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            yield Transaction(connection, _project(where))
            if self.dialect == "postgresql":
                connection.commit()  # after a rollback the driver forgets what it has prepared

    @contextmanager
    def write(self, where: ProjectId | PlatformWide) -> Iterator[Transaction]:
        """All or nothing: committed when the block ends, rolled back when it raises."""
        with translated():
            if self._turn is None:
                with self.engine.begin() as connection:
                    yield Transaction(connection, _project(where))
                return
            with self._turn, self.engine.connect() as connection:
                connection = connection.execution_options(acai_write=True)  # noqa: PLW2901
                with connection.begin():
                    yield Transaction(connection, _project(where))

    def close(self) -> None:
        self.engine.dispose()


def _project(where: ProjectId | PlatformWide) -> ProjectId | None:
    return None if isinstance(where, str) else where


def open_database(url: str, *, connections: int = 16) -> Database:
    """Connect lazily to the database at `url`; nothing is created before `migrate`.

    Raises InvalidSetting for a URL that names no database we know.
    """
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(
            parsed,
            pool_size=connections,
            max_overflow=0,
            hide_parameters=True,
            connect_args={
                "check_same_thread": False,
                "timeout": _SQLITE_PATIENCE,
                "cached_statements": 512,
            },
        )
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return Database(engine)
    engine = create_engine(
        parsed,
        pool_size=connections,
        max_overflow=0,
        pool_use_lifo=True,  # one that was just used has its statements prepared
        hide_parameters=True,
        connect_args={"connect_timeout": 10, "application_name": "acai"},
    )
    event.listen(engine, "connect", _configure_postgresql)
    event.listen(engine, "checkin", _note_rest)
    event.listen(engine, "checkout", partial(_ask_whether_there, engine.dialect))
    return Database(engine)


def _parse(url: str) -> URL:
    forms = "postgresql://USER:PASSWORD@HOST/NAME or sqlite:///PATH"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidSetting(f"the database URL is malformed; write {forms}") from None
    name = parsed.get_backend_name()
    if name == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise InvalidSetting("a SQLite database needs a file: write sqlite:///PATH")
        return parsed.set(drivername="sqlite+pysqlite")
    if name in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise InvalidSetting(
                "PostgreSQL needs its driver: pip install 'acai[postgres]'"
            ) from None
        return parsed.set(drivername="postgresql+psycopg")
    raise InvalidSetting(f"unknown database {name!r} in the database URL; write {forms}")


def _configure_sqlite(raw: Any, _record: Any) -> None:
    raw.create_function("acai_matches", 2, _matches, deterministic=True)
    raw.isolation_level = None  # we say BEGIN ourselves, see _begin_sqlite
    cursor = raw.cursor()
    _use_wal(cursor)
    # FULL: what was acknowledged survives a power cut, not just a crash of the process.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-65536")
    cursor.execute("PRAGMA mmap_size=1073741824")
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.close()


def _configure_postgresql(raw: Any, _record: Any) -> None:
    # It compiles a statement that it believes to be dear, for longer than ours take to run.
    raw.autocommit = True
    raw.execute("SET jit = off")
    raw.autocommit = False


def _note_rest(_raw: Any, record: Any) -> None:
    record.info["resting_since"] = time.monotonic()


def _ask_whether_there(dialect: Any, raw: Any, record: Any, _fairy: Any) -> None:
    """Ask a server whose connection has rested for a while whether it is still there.

    Asking each time, as the pool would, makes every transaction a round trip longer.
    """
    since = record.info.get("resting_since")
    if since is None or time.monotonic() - since < _TRUSTED_REST:
        return
    try:
        dialect.do_ping(raw)
    except dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError() from error  # all others are as old: connect anew


def _matches(pattern: str, text: str | None) -> bool:
    """SQLite's side of `~`: the same patterns as PostgreSQL's, in linear time."""
    return text is not None and compile_pattern(pattern)(text)


def _use_wal(cursor: Any) -> None:
    """Of two that open a new file at once, SQLite refuses one without waiting; so we wait."""
    deadline = time.monotonic() + _SQLITE_PATIENCE
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # IMMEDIATE: a writer that upgrades from a read may fail with "locked" at its last line.
    write = connection.get_execution_options().get("acai_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into ours, once, with the cause chained."""
    try:
        yield
    except PoolTimeout as error:
        raise Unavailable("all connections to the database are busy; try again") from error
    except OperationalError as error:
        raise _operational(str(error.orig)) from error
    except DataError as error:
        reason = _first_line(str(error.orig))
        raise InvalidInput(f"a value cannot be stored: {reason}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable("the connection to the database was lost; try again") from error
        if isinstance(error, ProgrammingError) and error.statement is None:
            reason = _first_line(str(error.orig))
            raise InvalidSetting(f"the database URL is not accepted: {reason}") from error
        if type(error) is DatabaseError:  # SQLite's words for a foreign or damaged file
            reason = _first_line(str(error.orig))
            raise Unavailable(
                f"the database cannot be used ({reason}); name another, or restore it"
            ) from error
        raise


def _operational(text: str) -> Unavailable:
    if any(sign in text for sign in ("disk is full", "No space left", "disk I/O error")):
        return StorageFull("the database's disk is full or failing; free some space and try again")
    if "readonly" in text or "read-only" in text:
        return Unavailable("the database is read-only; check the rights of its files")
    return Unavailable(f"the database does not answer: {_first_line(text)}")


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0][:300]


def sqlite_file(url: str) -> Path | None:
    """The file behind a SQLite URL, or None for another database."""
    parsed = _parse(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None
