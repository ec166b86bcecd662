"""Membership in a list of row ids that is one parameter, however many they are.

A statement with it can be made once and kept: a list of parameters would be written anew for
every length.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from acai.stores.records.database import Transaction


def among(dialect: str, column: ColumnElement[Any], name: str = "ids") -> ColumnElement[bool]:
    """Whether a column is one of the ids that `given` passes under this name."""
    if dialect == "postgresql":
        return column == any_(bindparam(name, type_=ARRAY(BigInteger)))
    listed = func.json_each(bindparam(name, type_=Text)).table_valued("value")
    return column.in_(select(listed.c.value))


def given(tx: Transaction, ids: Collection[int], name: str = "ids") -> dict[str, Any]:
    if tx.dialect == "postgresql":
        return {name: list(ids)}
    return {name: "[" + ",".join(map(str, ids)) + "]"}
