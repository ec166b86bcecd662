"""Project scoping, in the one place that a query cannot forget.

A statement that touches a project's table must bind that table's `project_id` to the
transaction's project, either by `mine(table)` or by equating it with the `project_id` of a
table that is bound. `check` refuses any other statement before it reaches the database, so
that a forgotten condition fails in the first test that runs it and never leaks a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import BigInteger, BindParameter, ColumnElement, FromClause, Table, bindparam
from sqlalchemy.sql import operators, visitors
from sqlalchemy.sql.dml import Delete, Insert, Update
from sqlalchemy.sql.elements import BinaryExpression, BooleanClauseList, Grouping
from sqlalchemy.sql.expression import Executable, Select, TextClause
from sqlalchemy.sql.selectable import Alias, Join

PARAMETER = "acai_project"


class UnscopedStatement(AssertionError):
    """A statement could read or change another project's rows: a mistake in our code."""


def this_project() -> BindParameter[int]:
    """The transaction's own project; its value is given by the transaction, not the caller."""
    return bindparam(PARAMETER, type_=BigInteger())


def mine(table: FromClause) -> ColumnElement[bool]:
    return table.c.project_id == this_project()


def check(statement: Executable) -> None:
    """Raise UnscopedStatement unless every project's table in the statement is bound."""
    bound: set[Any] = set()
    links: list[tuple[Any, Any]] = []
    needed: set[Any] = set()
    for element in visitors.iterate(statement):  # type: ignore[arg-type]
        if isinstance(element, TextClause):
            raise UnscopedStatement(f"raw SQL is not allowed in a project: {element}")
        if isinstance(element, Select):
            for source in element.get_final_froms():
                needed.update(_tables(source))
                _collect(_join_conditions(source), bound, links)
            _collect(_conjuncts(element.whereclause), bound, links)
        elif isinstance(element, Update | Delete):
            needed.update(_tables(element.table))
            _collect(_conjuncts(element.whereclause), bound, links)
        elif isinstance(element, Insert):
            _check_insert(element)
    growing = True
    while growing:
        growing = False
        for left, right in links:
            if (left in bound) != (right in bound):
                bound.update((left, right))
                growing = True
    loose = [source for source in needed if source not in bound]
    if loose:
        raise UnscopedStatement(f"no project condition on {loose[0]} in: {statement}")


def _check_insert(statement: Insert) -> None:
    if "project_id" not in statement.table.c:
        return
    if statement.select is not None:
        if "project_id" not in (statement._select_names or ()):
            raise UnscopedStatement(f"no project_id is inserted into {statement.table}")
        return
    values = statement._values or {}
    given = values.get(statement.table.c.project_id)
    if not (isinstance(given, BindParameter) and given.key == PARAMETER):
        raise UnscopedStatement(f"insert into {statement.table} without this_project()")


def _tables(source: Any) -> Iterator[Any]:
    if isinstance(source, Join):
        yield from _tables(source.left)
        yield from _tables(source.right)
    elif isinstance(source, Table):
        if "project_id" in source.c:
            yield source
    elif isinstance(source, Alias) and isinstance(source.element, Table):
        if "project_id" in source.element.c:
            yield source


def _join_conditions(source: Any) -> Iterator[Any]:
    if isinstance(source, Join):
        yield from _conjuncts(source.onclause)
        yield from _join_conditions(source.left)
        yield from _join_conditions(source.right)


def _conjuncts(clause: Any) -> Iterator[Any]:
    """The conditions that must all hold; nothing below an OR or a NOT counts."""
    if isinstance(clause, Grouping):
        yield from _conjuncts(clause.element)
    elif isinstance(clause, BooleanClauseList) and clause.operator is operators.and_:
        for part in clause.clauses:
            yield from _conjuncts(part)
    elif clause is not None:
        yield clause


def _collect(conditions: Iterator[Any], bound: set[Any], links: list[tuple[Any, Any]]) -> None:
    for condition in conditions:
        if not isinstance(condition, BinaryExpression) or condition.operator is not operators.eq:
            continue
        sides = [condition.left, condition.right]
        columns = [side.table for side in sides if getattr(side, "key", None) == "project_id"]
        if len(columns) == 2:
            links.append((columns[0], columns[1]))
        elif columns and any(
            isinstance(side, BindParameter) and side.key == PARAMETER for side in sides
        ):
            bound.add(columns[0])
