"""What people see: tables that fit the terminal, plain words, and JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import click


def to_json(value: Any) -> Any:  # noqa: PLR0911  one for each kind of value
    """A value as plain JSON types, with the field names that the API uses."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def print_json(value: Any) -> None:
    click.echo(json.dumps(to_json(value), indent=2, ensure_ascii=False))


def visible(text: str) -> str:
    """Text with control characters escaped: what users named never drives the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cut(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > room - 1:
            break
        kept += char
    return kept + "…"


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = ()
) -> None:
    """Columns side by side. On a terminal the widest give way; elsewhere nothing is cut."""
    cells = [[visible("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [
        max([width(header), *(width(row[i]) for row in cells)]) for i, header in enumerate(headers)
    ]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - 2 * (len(headers) - 1)
        floor = [min(w, max(width(h), 8)) for w, h in zip(widths, headers, strict=True)]
        while sum(widths) > room and any(w > f for w, f in zip(widths, floor, strict=True)):
            widest = max(range(len(widths)), key=lambda i: (widths[i] > floor[i], widths[i]))
            widths[widest] -= 1
    aligned = set(right)

    def line(row: Sequence[str]) -> str:
        parts = []
        for text, room, header in zip(row, widths, headers, strict=True):
            shown = cut(text, room) if sys.stdout.isatty() else text
            pad = " " * max(0, room - width(shown))
            parts.append(pad + shown if header in aligned else shown + pad)
        return "  ".join(parts).rstrip()

    click.echo(click.style(line([h.upper() for h in headers]), bold=True), color=use_color())
    for row in cells:
        click.echo(line(row))


def print_fields(pairs: Sequence[tuple[str, Any]]) -> None:
    """`name  value` lines, for one thing."""
    longest = max(width(name) for name, _ in pairs)
    for name, value in pairs:
        shown = visible("-" if value is None else str(value))
        click.echo(f"{click.style(name.ljust(longest), dim=True)}  {shown}", color=use_color())


def use_color(stream: Any = None) -> bool | None:
    if os.environ.get("NO_COLOR"):
        return False
    return (stream or sys.stdout).isatty()


def local_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
