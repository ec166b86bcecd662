"""Project scoping, in the one place that a query cannot forget.

A statement that touches a project's table must bind that table's `project_id` to the
transaction's project, either by `mine(table)` or by equating it with the `project_id` of a
table that is bound. `check` refuses any other statement before it reaches the database, so
that a forgotten condition fails in the first test that runs it and never leaks a row.

Each select is judged by its own conditions: what a subquery, a branch of a union or a CTE
reads is bound there, or by its tie to a row of the select around it that is bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, BindParameter, ColumnElement, FromClause, Table, bindparam
from sqlalchemy.sql import operators
from sqlalchemy.sql.dml import Delete, Insert, Update
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BooleanClauseList,
    ColumnClause,
    Grouping,
    Label,
    TextClause,
)
from sqlalchemy.sql.expression import Executable, Select
from sqlalchemy.sql.selectable import (
    CTE,
    AliasedReturnsRows,
    CompoundSelect,
    FromGrouping,
    Join,
    Lateral,
    SelectBase,
    SelectStatementGrouping,
    TableClause,
)

PARAMETER = "acai_project"
COLUMN = "project_id"
_PLAIN_LITERAL = re.compile(r"\*|[A-Za-z0-9_.]+|'[^']*'")  # holds no query


class UnscopedStatement(AssertionError):
    """A statement could read or change another project's rows: a mistake in our code."""


def this_project() -> BindParameter[int]:
    """The transaction's own project; its value is given by the transaction, not the caller."""
    return bindparam(PARAMETER, type_=BigInteger())


def mine(table: FromClause) -> ColumnElement[bool]:
    return table.c.project_id == this_project()


def check(statement: Executable) -> None:
    """Raise UnscopedStatement unless every project's table in the statement is bound."""
    if not isinstance(statement, Select | CompoundSelect | Insert | Update | Delete):
        raise UnscopedStatement(f"only queries and changes are allowed in a project: {statement}")
    _Check(statement).visit(statement, _Around())


@dataclass(frozen=True, kw_only=True)
class _Around:
    """What lies around a part of the statement, and may be referred to from inside."""

    near: frozenset[Any] = frozenset()  # sources of the select right around it
    seen: frozenset[Any] = frozenset()  # of all selects around it
    bound: frozenset[Any] = frozenset()  # those whose rows are surely the project's


@dataclass(kw_only=True)
class _Binding:
    """Which sources are bound, and which follow from which: (x, y) means x bound makes y so."""

    bound: set[Any] = field(default_factory=set)
    follows: list[tuple[Any, Any]] = field(default_factory=list)

    def take(self, conditions: Iterable[Any], only: set[Any] | None = None) -> None:
        """Learn from conditions that all hold; for the sources in `only`, if it is given."""
        for condition in conditions:
            if not isinstance(condition, BinaryExpression):
                continue
            if condition.operator is not operators.eq:
                continue
            left, right = _owner(condition.left), _owner(condition.right)
            if left is not None and right is not None:
                self._follow(left, right, only)
                self._follow(right, left, only)
            elif left is not None and _is_project(condition.right):
                self._bind(left, only)
            elif right is not None and _is_project(condition.left):
                self._bind(right, only)

    def join(self, source: Any) -> None:
        """Learn from the ON conditions of a join, which an outer join applies to one side only."""
        if isinstance(source, FromGrouping):
            self.join(source.element)
        if not isinstance(source, Join):
            return
        self.join(source.left)
        self.join(source.right)
        if not source.full:
            only = set(_leaves(source.right)) if source.isouter else None
            self.take(_conjuncts(source.onclause), only)

    def grown(self) -> frozenset[Any]:
        bound = set(self.bound)
        growing = True
        while growing:
            fresh = {y for x, y in self.follows if x in bound and y not in bound}
            bound |= fresh
            growing = bool(fresh)
        return frozenset(bound)

    def _bind(self, source: Any, only: set[Any] | None) -> None:
        if only is None or source in only:
            self.bound.add(source)

    def _follow(self, first: Any, then: Any, only: set[Any] | None) -> None:
        if only is None or then in only:
            self.follows.append((first, then))


class _Check:
    """One walk over one statement."""

    def __init__(self, statement: Any) -> None:
        self._statement = statement
        self._ctes: set[int] = set()

    def visit(self, element: Any, around: _Around, *, as_from: bool = False) -> None:
        if isinstance(element, TextClause):
            raise UnscopedStatement(f"raw SQL is not allowed in a project: {element}")
        if isinstance(element, ColumnClause):
            if element.is_literal and not _PLAIN_LITERAL.fullmatch(element.name):
                raise UnscopedStatement(f"raw SQL is not allowed in a project: {element.name}")
        elif isinstance(element, Select):
            self._select(element, around, as_from)
        elif isinstance(element, Update | Delete):
            self._change(element)
        elif isinstance(element, Insert):
            self._insert(element)
        elif isinstance(element, CTE):
            self._cte(element)
        elif isinstance(element, Lateral):
            self.visit(_unnamed(element), around)
        elif isinstance(element, AliasedReturnsRows):
            self.visit(element.element, around, as_from=True)
        elif isinstance(element, Join):
            self.visit(element.left, around, as_from=True)
            self.visit(element.right, around, as_from=True)
            self.visit(element.onclause, around)
        elif not isinstance(element, Table):
            nested = as_from and isinstance(element, SelectBase | FromGrouping)
            for child in element.get_children():
                self.visit(child, around, as_from=nested)

    def _select(self, select: Select[Any], around: _Around, as_from: bool) -> None:
        froms = _own_froms(select, around, as_from)
        leaves = frozenset(leaf for source in froms for leaf in _leaves(source))
        binding = _Binding(bound=set(around.bound - leaves))
        for source in froms:
            binding.join(source)
        binding.take(_conjuncts(select.whereclause))
        bound = binding.grown()
        self._require(leaves, bound)
        inside = _Around(near=leaves | set(froms), seen=around.seen | leaves, bound=bound)
        for source in froms:
            self.visit(source, inside, as_from=True)
        self._independent_ctes(select)
        for child in select.get_children():
            if not isinstance(child, FromClause):
                self.visit(child, inside)

    def _change(self, statement: Update | Delete) -> None:
        """An update or delete, with the tables that its conditions and values draw in."""
        leaves = {statement.table, *_mentioned(statement.whereclause)}
        changed: list[tuple[Any, Any]] = []
        if isinstance(statement, Update):
            changed = [*(statement._values or {}).items(), *(_ordered_values(statement))]
            for _, value in changed:
                leaves.update(_mentioned(value))
        binding = _Binding()
        binding.take(_conjuncts(statement.whereclause))
        bound = binding.grown()
        self._require(leaves, bound)
        for column, value in changed:
            if _name(column) == COLUMN and not _is_project(value):
                raise UnscopedStatement(f"rows cannot move to another project: {statement}")
        inside = _Around(near=frozenset(leaves), seen=frozenset(leaves), bound=bound)
        self._independent_ctes(statement)
        for leaf in leaves:
            self.visit(leaf, inside, as_from=True)
        for _, value in changed:
            if hasattr(value, "get_children"):
                self.visit(value, inside)
        for child in statement.get_children():
            if not isinstance(child, FromClause):
                self.visit(child, inside)

    def _insert(self, statement: Insert) -> None:
        self._independent_ctes(statement)
        if COLUMN in statement.table.c:
            self._check_inserted_project(statement)
            self._check_conflict(statement)
        for row in _inserted_rows(statement):
            for value in row.values():
                if hasattr(value, "get_children"):
                    self.visit(value, _Around())
        for child in statement.get_children():
            if not isinstance(child, FromClause):
                self.visit(child, _Around())

    def _check_inserted_project(self, statement: Insert) -> None:
        if statement.select is not None:
            names = [_name(column) for column in statement._select_names or ()]
            if COLUMN not in names:
                raise UnscopedStatement(f"no project_id is inserted into {statement.table}")
            for select in _branches(statement.select):
                given = list(select.selected_columns)[names.index(COLUMN)]
                plain = given.element if isinstance(given, Label) else given
                if not _is_project(plain) and _owner(plain) is None:
                    raise UnscopedStatement(f"insert into {statement.table} of a foreign project")
            return
        rows = list(_inserted_rows(statement))
        if not rows or not all(_is_project(row.get(COLUMN)) for row in rows):
            raise UnscopedStatement(f"insert into {statement.table} without this_project()")

    def _check_conflict(self, statement: Insert) -> None:
        """ON CONFLICT DO UPDATE may change only a row of the same project."""
        clause = getattr(statement, "_post_values_clause", None)
        changed = getattr(clause, "update_values_to_set", None)
        if clause is None or changed is None:
            return
        if any(_name(column) == COLUMN for column, _ in _pairs(changed)):
            raise UnscopedStatement(f"rows cannot move to another project: {statement.table}")
        target = {_name(one) for one in clause.inferred_target_elements or ()}
        binding = _Binding()
        binding.take(_conjuncts(clause.update_whereclause))
        if COLUMN not in target and statement.table not in binding.grown():
            raise UnscopedStatement(
                f"a conflict in {statement.table} may be with another project's row"
            )
        for _, value in _pairs(changed):
            if hasattr(value, "get_children"):
                self.visit(value, _Around())
        if clause.update_whereclause is not None:
            self.visit(clause.update_whereclause, _Around())

    def _cte(self, cte: CTE) -> None:
        """Once each: a recursive one contains itself. It stands alone, so nothing is around it."""
        if id(cte) in self._ctes:
            return
        self._ctes.add(id(cte))
        self.visit(cte.element, _Around(), as_from=True)

    def _independent_ctes(self, statement: Any) -> None:
        for cte in getattr(statement, "_independent_ctes", ()):
            self.visit(cte, _Around())

    def _require(self, leaves: Iterable[Any], bound: frozenset[Any]) -> None:
        for leaf in leaves:
            if _is_project_table(leaf) and leaf not in bound:
                raise UnscopedStatement(f"no project condition on {leaf} in: {self._statement}")


def _own_froms(select: Select[Any], around: _Around, as_from: bool) -> list[Any]:
    """The sources that this select reads itself: those of the selects around it are left out,
    by the same rules that SQLAlchemy writes the statement with."""
    state: Any = select._compile_state_factory(select, None)  # type: ignore[arg-type]
    explicit = around.seen - around.near if as_from else around.seen
    found: list[Any] = state._get_display_froms(
        explicit_correlate_froms=explicit,
        implicit_correlate_froms=frozenset() if as_from else around.near,
    )
    return found


def _leaves(source: Any) -> Iterator[Any]:
    """The single sources of a FROM item."""
    if isinstance(source, Join):
        yield from _leaves(source.left)
        yield from _leaves(source.right)
    elif isinstance(source, FromGrouping):
        yield from _leaves(source.element)
    else:
        yield source


def _is_project_table(source: Any) -> bool:
    """Whether a source is a project's table, or another name for one."""
    source = _unnamed(source)
    if isinstance(source, TableClause) and not isinstance(source, Table):
        raise UnscopedStatement(f"{source} is not one of the tables that `tables` declares")
    return isinstance(source, Table) and COLUMN in source.c


def _unnamed(source: Any) -> Any:
    while isinstance(source, AliasedReturnsRows):
        source = source.element
    return source


def _mentioned(clause: Any) -> Iterator[Any]:
    """The sources whose columns a condition or a value uses, selects inside it left aside."""
    if isinstance(clause, ColumnClause):
        if clause.table is not None:
            yield clause.table
    elif hasattr(clause, "get_children") and not isinstance(clause, SelectBase):
        for child in clause.get_children():
            yield from _mentioned(child)


def _conjuncts(clause: Any) -> Iterator[Any]:
    """The conditions that must all hold; nothing below an OR or a NOT counts."""
    if isinstance(clause, Grouping):
        yield from _conjuncts(clause.element)
    elif isinstance(clause, BooleanClauseList) and clause.operator is operators.and_:
        for part in clause.clauses:
            yield from _conjuncts(part)
    elif clause is not None:
        yield clause


def _owner(side: Any) -> Any:
    """The source whose `project_id` this is, or None."""
    if isinstance(side, ColumnClause) and side.key == COLUMN and not side.is_literal:
        return side.table
    return None


def _is_project(value: Any) -> bool:
    return isinstance(value, BindParameter) and value.key == PARAMETER


def _branches(query: Any) -> Iterator[Select[Any]]:
    if isinstance(query, SelectStatementGrouping):
        yield from _branches(query.element)
    elif isinstance(query, CompoundSelect):
        for one in query.selects:
            yield from _branches(one)
    elif isinstance(query, Select):
        yield query
    else:
        raise UnscopedStatement(f"cannot tell which project this inserts into: {query}")


def _inserted_rows(statement: Insert) -> Iterator[dict[str, Any]]:
    if statement._values:
        yield {_name(column): value for column, value in statement._values.items()}
    for several in statement._multi_values:
        for row in several:
            pairs = (
                row.items() if isinstance(row, dict) else zip(statement.table.c, row, strict=False)
            )
            yield {_name(column): value for column, value in pairs}


def _ordered_values(statement: Update) -> list[tuple[Any, Any]]:
    return list(getattr(statement, "_ordered_values", None) or ())


def _pairs(values: Any) -> list[tuple[Any, Any]]:
    return list(values.items() if hasattr(values, "items") else values)


def _name(column: Any) -> str:
    return column if isinstance(column, str) else str(getattr(column, "key", ""))
