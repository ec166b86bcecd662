"""Log lines: readable or JSON, one line each, no secret in either."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest

from acai.api.logs import JsonLines, Readable, configure, redact
from acai.identity.tokens import new_token

TOKEN = new_token().text
SECRETS = {
    "token": (TOKEN, TOKEN.rpartition("_")[2]),
    "token in upper case": (TOKEN.upper(), TOKEN.rpartition("_")[2].upper()),
    "bearer": ("Authorization: Bearer s3cr3t-of-a-proxy", "s3cr3t"),
    "own signature": ("GET /api/v1/objects/a?expires=1&sig=deadbeef", "deadbeef"),
    "amazon signature": ("http://s3/b/k?X-Amz-Signature=beef&x=1", "beef"),
    "amazon credential": ("http://s3/b/k?X-Amz-Credential=AKIA%2F1&x=1", "AKIA"),
    "amazon session": ("http://s3/b/k?a=1&X-Amz-Security-Token=tok", "=tok"),
    "google signature": ("https://g/b?X-Goog-Signature=cafe", "cafe"),
    "azure signature": ("https://az/c?sv=1&sig=c2ln%3D", "c2ln"),
    "database password": ("postgresql://acai:pa55word@db/acai", "pa55word"),
    "password with an at": ("postgresql://acai:pa@55word@db/acai", "55word"),
    "password without a user": ("redis://:pa55word@db", "pa55word"),
}


def record(message: str, **more: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "acai.test", "levelname": "INFO", "msg": message})
    vars(made).update(more)
    return made


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_in_a_message_a_field_or_a_traceback(name: str) -> None:
    text, secret = SECRETS[name]
    try:
        raise ValueError(f"cannot use {text!r}")
    except ValueError:
        failed = record("it failed", exc_info=sys.exc_info())
    lines = [record(f"using {text} now"), record("a field", url=text, quoted=f'"{text}"'), failed]
    for line in lines:
        assert secret not in Readable().format(line)
        written = JsonLines().format(line)
        assert secret not in written
        json.loads(written)


@pytest.mark.parametrize(
    "text",
    ["http://host:8080/a@b", "see a@b.example", "12:30 me@x", "sign=3", "http://127.0.0.1:1/"],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_json_lines_hold_the_fields() -> None:
    line = json.loads(JsonLines().format(record("hello", path="/ü\n", status=200, nothing=None)))
    assert line["message"] == "hello"
    assert (line["level"], line["logger"]) == ("info", "acai.test")
    assert (line["path"], line["status"]) == ("/ü\n", 200)
    assert "nothing" not in line


@pytest.mark.parametrize("style", [Readable(), JsonLines()])
def test_callers_cannot_forge_lines_or_drive_the_terminal(style: logging.Formatter) -> None:
    path = "/x\n12:00:00 info    all is well\x1b[2J"
    access = record("request", method="GET", path=path, status=404, ms=1.0)
    access.name = "acai.access"
    for line in (record("odd", path=path), record(f"odd {path}"), access):
        written = style.format(line)
        assert "\n" not in written
        assert "\x1b" not in written


@pytest.fixture
def root_logger() -> object:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield root
    root.handlers[:], _ = before[0], root.setLevel(before[1])


@pytest.mark.parametrize(
    ("style", "json_expected"), [("auto", True), ("json", True), ("human", False)]
)
def test_the_style_follows_the_setting(
    style: str, json_expected: bool, monkeypatch: pytest.MonkeyPatch, root_logger: object
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure("info", style)
    logging.getLogger("acai.x").info("hello", extra={"a": 1})
    logging.getLogger("acai.x").debug("not shown")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("{") is json_expected
    assert "hello" in lines[0]
