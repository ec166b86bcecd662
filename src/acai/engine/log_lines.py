"""Lines of a log that are too long to be looked at, cut as they pass."""

from __future__ import annotations

from collections.abc import Iterator


class LineCutter:
    """Of each line its first `longest` bytes and its end; the pieces of a log come in order."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._column = 0  # bytes of the present line that were kept

    def cut(self, data: bytes) -> Iterator[bytes | int]:
        """What is kept of the next piece, and between such parts how many bytes are left out.

        The time does not depend on the number of lines: one search backwards passes all those
        that lie within the length of one long line.
        """
        kept_from = at = 0
        while True:
            room = self._longest - self._column
            last = data.rfind(b"\n", at, at + room + 1)
            if last >= 0:
                at, self._column = last + 1, 0
                continue
            if len(data) - at <= room:
                self._column += len(data) - at
                break
            end = data.find(b"\n", at + room)
            at, cut_from = len(data) if end < 0 else end, at + room
            self._column = self._longest
            if cut_from > kept_from:
                yield data[kept_from:cut_from]
            yield at - cut_from
            kept_from = at
        if kept_from < len(data):
            yield data[kept_from:]

    def new_log(self) -> None:
        """What comes next begins a line."""
        self._column = 0
