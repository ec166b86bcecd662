"""Tag lines are found where a program prints them, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.assignments import TagTarget
from acai.model.log_tags import LONGEST_LINE, MalformedTag, TagLine, parse_tag_line

JOB, OUTPUT = TagTarget.JOB, TagTarget.OUTPUT


@pytest.mark.parametrize(
    ("line", "target", "key", "value"),
    [
        (b"[ACAI_TAG] FILESET model:BERT", OUTPUT, "model", "BERT"),
        (b"[ACAI_TAG_NUM] FILESET precision:0.71", OUTPUT, "precision", 0.71),
        (b"[ACAI_TAG_NUM] JOB training_loss:0.043", JOB, "training_loss", 0.043),
        (b"[ACAI_TAG_NUM] EXPERIMENT lr: 1e-05\r", JOB, "lr", 1e-5),
        (b"  [ACAI_TAG_NUM] JOB n:-3", JOB, "n", -3.0),
        (b"[ACAI_TAG] JOB url:http://a:80/b c ", JOB, "url", "http://a:80/b c"),
        (b"[ACAI_TAG] JOB version_of:7", JOB, "version_of", "7"),
        ("[ACAI_TAG] JOB stadt:Zürich".encode(), JOB, "stadt", "Zürich"),
        (b"INFO:train:[ACAI_TAG_NUM] JOB loss:.5", JOB, "loss", 0.5),
        (b" 50%|#### | 5/10 [00:01<00:01]\r[ACAI_TAG_NUM] JOB loss:5.", JOB, "loss", 5.0),
    ],
)
def test_a_tag_line_is_read(line: bytes, target: TagTarget, key: str, value: float | str) -> None:
    assert parse_tag_line(line) == TagLine(target=target, key=key, value=value)


@pytest.mark.parametrize(
    "line",
    [
        b"[ACAI_TAG] FILESET model",
        b"[ACAI_TAG] FILESET model:",
        b"[ACAI_TAG] SET model:BERT",
        b"[ACAI_TAG] fileset model:BERT",
        b"[ACAI_TAG_NUM] JOB loss:low",
        b"[ACAI_TAG_NUM] JOB loss:nan",
        b"[ACAI_TAG_NUM] JOB loss:1e999",
        b"[ACAI_TAG_NUM] JOB loss:1_000",
        b"[ACAI_TAG] JOB 9lives:cat",
        b"[ACAI_TAG] JOB status:fine",  # the platform's own
        b"[ACAI_TAG] FILESET size:big",
        b"[ACAI_TAG FILESET model:BERT",
        b"[ACAI_TAGS] FILESET model:BERT",
        b"[ACAI_TAG] JOB name_of:\xff",
        b"[ACAI_TAG] JOB text:" + b"x" * 5000,
    ],
)
def test_a_malformed_tag_line_is_told_apart(line: bytes) -> None:
    with pytest.raises(MalformedTag):
        parse_tag_line(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"epoch 3, loss 0.1",
        b"+ echo '[ACAI_TAG] FILESET model:BERT'",
        b'    print(f"[ACAI_TAG] FILESET model:{name}")',
        b"warning: [ACAI_TAG_NUM] JOB loss:low",  # neither a tag nor clearly meant as one
        b"[ACAI_TAG] JOB a:" + b"b" * LONGEST_LINE,
    ],
)
def test_other_lines_are_no_tags(line: bytes) -> None:
    assert parse_tag_line(line) is None


@given(st.binary(max_size=80))
def test_nothing_that_follows_a_mark_breaks_the_parser(rest: bytes) -> None:
    try:
        found = parse_tag_line(b"[ACAI_TAG] JOB " + rest)
    except MalformedTag:
        return
    assert found is not None and found.key


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_that_python_prints_is_read_back(value: float) -> None:
    found = parse_tag_line(f"[ACAI_TAG_NUM] JOB loss:{value!r}".encode())
    assert found is not None and found.value == value
