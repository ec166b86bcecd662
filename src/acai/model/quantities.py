"""Durations and sizes as people write them: `90s 15m 2h 7d`, `64KB 2GB 512MiB`."""

from __future__ import annotations

import re

from acai.model.errors import InvalidInput

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_UPPER = {unit.upper(): factor for unit, factor in BYTES.items()}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*\Z")


def parse_duration(text: str) -> float:
    """Seconds. A bare number is seconds."""
    match = _QUANTITY.match(text)
    if match is None or (match[2] or "s").lower() not in SECONDS:
        raise InvalidInput(f"{text!r} is not a duration; write for example 90s, 15m, 2h or 7d")
    return float(match[1]) * SECONDS[(match[2] or "s").lower()]


def parse_size(text: str) -> int:
    """Bytes. KB, MB, GB are powers of 1000; KiB, MiB, GiB of 1024; a bare number is bytes."""
    match = _QUANTITY.match(text)
    if match is None or (match[2] or "B").upper() not in _UPPER:
        raise InvalidInput(f"{text!r} is not a size; write for example 64KB, 512MiB or 2GB")
    return int(float(match[1]) * _UPPER[(match[2] or "B").upper()])


def format_size(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 999.5:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def format_duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"
