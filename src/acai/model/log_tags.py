"""Tag lines: what a job's program prints to describe its run, or the set it makes.

    [ACAI_TAG] FILESET model:BERT            a text on the output set
    [ACAI_TAG_NUM] FILESET precision:0.71    a number on the output set
    [ACAI_TAG_NUM] JOB training_loss:0.043   a number on the job; EXPERIMENT means the same

A logger's prefix, or a progress bar that did not end its line, may stand before the mark. A
quotation mark right before it tells that a program is shown and not run (`set -x`, a traceback):
such a line is no tag.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from acai.model.assignments import TagTarget
from acai.model.errors import InvalidInput
from acai.model.metadata import KEY, EntityKind, validate_user_key, validate_value

MARK = b"[ACAI_TAG"
LONGEST_LINE = 64 * 1024  # a longer one is no tag line

_TARGETS = {"FILESET": TagTarget.OUTPUT, "JOB": TagTarget.JOB, "EXPERIMENT": TagTarget.JOB}
_KINDS = {TagTarget.OUTPUT: EntityKind.SET, TagTarget.JOB: EntityKind.JOB}
_WHOLE_MARK = re.compile(rb"(?<!['\"`])\[ACAI_TAG(_NUM)?\]")
_BODY = re.compile(rf"\s*([A-Z]+)\s+({KEY})\s*:\s*(\S.*)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, kw_only=True)
class TagLine:
    target: TagTarget
    key: str
    value: float | str


class MalformedTag(ValueError):
    """The line begins like a tag line, and is none."""


def parse_tag_line(line: bytes) -> TagLine | None:
    """The tag that a line of the log holds, None if it is an ordinary line.

    Raises MalformedTag. With something before the mark, a malformed one is an ordinary line.
    """
    if len(line) > LONGEST_LINE or MARK not in line:
        return None
    mark = _WHOLE_MARK.search(line)
    tag = _tag(line[mark.end() :], numeric=mark[1] is not None) if mark else None
    if tag is None and line.lstrip().startswith(MARK):
        raise MalformedTag(line.decode("utf-8", "replace"))
    return tag


def _tag(rest: bytes, *, numeric: bool) -> TagLine | None:
    try:
        body = _BODY.fullmatch(rest.decode("utf-8").rstrip())
        if body is None or body[1] not in _TARGETS:
            return None
        target = _TARGETS[body[1]]
        key = validate_user_key(_KINDS[target], body[2])
        if numeric:
            value = float(body[3]) if _NUMBER.fullmatch(body[3]) else math.nan
            return TagLine(target=target, key=key, value=value) if math.isfinite(value) else None
        return TagLine(target=target, key=key, value=str(validate_value(body[3], key=key)))
    except (UnicodeDecodeError, InvalidInput):
        return None
