"""How paths are looked up and ranged over, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    String,
    and_,
    column,
    func,
    literal_column,
    values,
)
from sqlalchemy.sql.selectable import CTE

from acai.stores.records.database import Transaction
from acai.stores.records.tables_lake import INDEXED_PATH, directory_key


def split(path: str) -> tuple[bytes, str]:
    """A file's directory key and name: what its row is found by."""
    parent, _, name = path.rpartition("/")
    return directory_key(parent + "/"), name


def split_directory(path: str) -> tuple[bytes, str]:
    """The same for a directory, given with its final slash."""
    return split(path[:-1])


def ancestors(directories: set[str]) -> set[str]:
    """These directories and all above them, without the root; each with its final slash."""
    found: set[str] = set()
    for directory in directories:
        path = directory
        while path != "/" and path not in found:
            found.add(path)
            path = path[: path.rindex("/", 0, -1) + 1]
    return found


def wanted(pairs: Sequence[tuple[bytes, str]]) -> CTE:
    """The (parent, name) pairs as a relation to join with."""
    return (
        values(column("parent", LargeBinary), column("name", String), name="wanted")
        .data(list(pairs))
        .cte()
    )


def ordered(tx: Transaction, path: Any) -> list[ColumnElement[Any]]:
    """ORDER BY terms that follow the index on paths."""
    if tx.dialect == "sqlite":
        return [path]
    return [_head(path), path]


def between(tx: Transaction, path: Any, low: Any, high: Any) -> ColumnElement[bool]:
    """low < path < high, in the form that the index on paths answers."""
    exact = and_(path > low, path < high)
    if tx.dialect == "sqlite":
        return exact
    return and_(exact, _head(path) >= _head(low), _head(path) <= _head(high))


def _head(value: Any) -> ColumnElement[Any]:
    return func.left(value, literal_column(str(INDEXED_PATH))).collate("C")
