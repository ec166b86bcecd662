"""Finding tag lines in a stream that comes in pieces of any length, binary ones too."""

from __future__ import annotations

from datetime import datetime

from acai.model.assignments import PrintedTag
from acai.model.log_tags import LONGEST_LINE, MARK, MalformedTag, parse_tag_line


class TagReader:
    """Feed it the log as it arrives. What it holds is at most one unfinished line."""

    def __init__(self) -> None:
        self._line = b""  # the beginning of the line that is not ended yet
        self._too_long = False  # that line cannot be a tag any more
        self._count = 0
        self.malformed = 0

    def feed(self, data: bytes, now: datetime) -> list[PrintedTag]:
        """The tags of the lines that `data` ends."""
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            self._keep(data)
            return []
        whole = data[:cut]
        if self._too_long:
            whole = whole[whole.index(b"\n") + 1 :]
        else:
            whole = self._line + whole
        self._line, self._too_long = b"", False
        self._keep(data[cut:])
        return self._parse(whole, now) if MARK in whole else []

    def end(self, now: datetime) -> list[PrintedTag]:
        """The tag of a last line that no newline ended."""
        last, self._line = self._line, b""
        return self._parse(last, now) if MARK in last else []

    def _keep(self, rest: bytes) -> None:
        if self._too_long or not rest:
            return
        if len(self._line) + len(rest) > LONGEST_LINE:
            self._line, self._too_long = b"", True
        else:
            self._line += rest

    def _parse(self, lines: bytes, now: datetime) -> list[PrintedTag]:
        found = []
        for line in lines.split(b"\n"):
            if MARK not in line:
                continue
            try:
                tag = parse_tag_line(line)
            except MalformedTag:
                self.malformed += 1
                continue
            if tag is not None:
                self._count += 1
                found.append(
                    PrintedTag(
                        n=self._count, target=tag.target, key=tag.key, value=tag.value, time=now
                    )
                )
        return found
