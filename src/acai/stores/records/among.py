"""Membership in a list of row ids that is one parameter, however many they are.

A statement with it can be made once and kept: a list of parameters would be written anew for
every length.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, any_, bindparam, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from acai.stores.records.database import Transaction


def among(dialect: str, column: ColumnElement[Any], name: str = "ids") -> ColumnElement[bool]:
    """Whether a column is one of the ids that `given` passes under this name."""
    if dialect == "postgresql":
        return column == any_(cast(bindparam(name, type_=Text), ARRAY(BigInteger)))
    listed = func.json_each(bindparam(name, type_=Text)).table_valued("value")
    return column.in_(select(listed.c.value))


def given(tx: Transaction, ids: Collection[int], name: str = "ids") -> dict[str, Any]:
    """The ids as text: on PostgreSQL the driver takes 1 µs for each that it is given as a list."""
    listed = ",".join(map(str, ids))
    return {name: f"{{{listed}}}" if tx.dialect == "postgresql" else f"[{listed}]"}
