"""Tag lines are found however the stream is cut, and nothing of it is held for long."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from acai.agent.tags import TagReader
from acai.model.assignments import TagTarget
from acai.model.log_tags import LONGEST_LINE

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LINES = [
    b"[ACAI_TAG_NUM] JOB loss:0.5",
    b"[ACAI_TAG] FILESET model:BERT",
    b"[ACAI_TAG] nonsense",
    b"plain text",
    b"\xff\x00\xfe",
    b"",
    b"x" * 300,
]


def fed(pieces: list[bytes]) -> tuple[list[tuple[int, str, object]], int]:
    reader = TagReader()
    found = [tag for piece in pieces for tag in reader.feed(piece, NOW)]
    found += reader.end(NOW)
    return [(tag.n, tag.key, tag.value) for tag in found], reader.malformed


@given(
    st.lists(st.sampled_from(LINES), max_size=20),
    st.lists(st.integers(min_value=0, max_value=2000), max_size=20),
    st.booleans(),
)
def test_cuts_do_not_matter(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended else b"")
    bounds = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    tags, malformed = fed(pieces)
    wanted = {LINES[0]: ("loss", 0.5), LINES[1]: ("model", "BERT")}
    assert [tag[1:] for tag in tags] == [wanted[line] for line in lines if line in wanted]
    assert [tag[0] for tag in tags] == list(range(1, len(tags) + 1))
    assert malformed == lines.count(LINES[2])


def test_an_endless_line_is_not_held_and_is_no_tag() -> None:
    reader = TagReader()
    assert reader.feed(b"[ACAI_TAG] JOB a:", NOW) == []
    for _ in range(100):
        assert reader.feed(b"b" * 4096, NOW) == []
        assert len(reader._line) <= LONGEST_LINE
    (tag,) = reader.feed(b"end\n[ACAI_TAG] JOB c:d\n", NOW)
    assert (tag.key, tag.value, tag.target, tag.n) == ("c", "d", TagTarget.JOB, 1)
    assert reader.malformed == 0
