"""A query without its values: what the statements for it depend on.

Making a statement takes longer than running it, so that statements are made once for each shape
and kept; the values of a query are their parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BigInteger, BindParameter, Double, String, bindparam

from acai.model.metadata import ValueType
from acai.model.query import ast
from acai.stores.records.metadata import as_number
from acai.stores.records.tables import to_microseconds
from acai.stores.records.tables_meta import INDEXED_TEXT

_TYPES: dict[type[Any], ValueType] = {
    ast.Number: ValueType.NUMBER,
    ast.Text: ValueType.TEXT,
    ast.Boolean: ValueType.BOOLEAN,
    ast.Instant: ValueType.TIME,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """Where a query has a value, and of which type it is. Stands in the place of a literal."""

    number: int
    type: ValueType
    short: bool  # of a text: whether an index holds the whole of it


def shape_of(condition: ast.Condition | None) -> tuple[ast.Condition | None, Mapping[str, Any]]:
    """A resolved condition with slots for its literals, and the parameters that fill them.

    Patterns stay: they are few, and each database has its own form of them.
    """
    values: list[ast.Literal] = []

    def slot(value: ast.Literal) -> Any:
        values.append(value)
        short = not isinstance(value, ast.Text) or len(value.value) < INDEXED_TEXT
        return Slot(number=len(values) - 1, type=_TYPES[type(value)], short=short)

    def shaped(node: ast.Condition) -> ast.Condition:
        match node:
            case ast.And(operands=operands) | ast.Or(operands=operands):
                return replace(node, operands=tuple(shaped(one) for one in operands))
            case ast.Not(operand=operand):
                return replace(node, operand=shaped(operand))
            case ast.Compare(value=value):
                return replace(node, value=slot(value))
            case ast.Between(low=low, high=high):
                return replace(node, low=slot(low), high=slot(high))
            case ast.In(values=several):
                return replace(node, values=tuple(slot(one) for one in several))
            case _:
                return node

    shape = None if condition is None else shaped(condition)
    given: dict[str, Any] = {}
    for number, value in enumerate(values):
        given |= _forms(number, value)
    return shape, given


def _forms(number: int, value: ast.Literal) -> dict[str, Any]:
    """A value as metadata keeps it, as a column of an entity's own row does, and its beginning
    that an index holds."""
    match value:
        case ast.Text(value=text):
            return {f"v{number}": text, f"o{number}": text, f"b{number}": text[:INDEXED_TEXT]}
        case ast.Number(value=plain):
            return {f"v{number}": float(plain), f"o{number}": plain}
        case ast.Boolean(value=flag):
            return dict.fromkeys((f"v{number}", f"o{number}"), 1.0 if flag else 0.0)
        case ast.Instant(value=moment):
            return {f"v{number}": as_number(moment), f"o{number}": to_microseconds(moment)}
        case _:
            raise AssertionError(f"a relative literal was not resolved: {value}")


def as_stored(value: ast.Literal) -> BindParameter[Any]:
    slot = slot_of(value)
    text = slot.type is ValueType.TEXT
    return bindparam(f"v{slot.number}", type_=String() if text else Double())


def as_beginning(value: ast.Literal) -> BindParameter[Any]:
    slot = slot_of(value)
    return as_stored(value) if slot.short else bindparam(f"b{slot.number}", type_=String())


def as_own(value: ast.Literal) -> BindParameter[Any]:
    """For a column of an entity's own row, whose type a number takes on."""
    slot = slot_of(value)
    name = f"o{slot.number}"
    if slot.type is ValueType.TEXT:
        return bindparam(name, type_=String())
    return bindparam(name, type_=BigInteger()) if slot.type is ValueType.TIME else bindparam(name)


def slot_of(value: Any) -> Slot:
    assert isinstance(value, Slot), f"not of a shape: {value}"
    return value
