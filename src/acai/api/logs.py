"""Structured logs: readable on a terminal, JSON lines otherwise, and never a secret in them."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

from acai.api.middleware import request_id_of

_SECRETS = re.compile(
    r"(acai_[a-z0-9]{12}_)[a-z0-9]+"
    r"|((?:\b(?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=))"
    r"[^&\s\"'\\]+"
    r"|(://[^:/@\s\"'\\]*:)[^/\s\"'\\]+(?=@)"
    r"|(\bbearer\s+)[^\s\"'\\]+",
    re.IGNORECASE,
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


def redact(text: str) -> str:
    """Blank out tokens, signatures and passwords in URLs."""
    return _SECRETS.sub(lambda m: next(filter(None, m.groups())) + "…", text)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    extra = {k: v for k, v in vars(record).items() if k not in _STANDARD and v is not None}
    request_id = request_id_of.get()
    return {**extra, "request_id": request_id} if request_id else extra


def _one_line(text: str) -> str:
    """What callers send may hold line ends and escape codes; the log shows them as such."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return redact(json.dumps(line, default=str, ensure_ascii=False))


class Readable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields = _fields(record)
        if record.name == "acai.access":
            who = fields.get("user") or "-"
            text = (
                f"{fields['method']} {_one_line(fields['path'])} → {fields['status']}"
                f"  {fields['ms']} ms  {who}"
            )
        else:
            pairs = " ".join(f"{k}={v}" for k, v in fields.items() if k != "request_id")
            text = _one_line(f"{record.getMessage()}  {pairs}".rstrip())
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return redact(f"{clock} {record.levelname.lower():7} {text}")


def configure(level: str, style: str) -> None:
    """Send the server's logs to stderr. `style`: human, json, or auto for whichever fits."""
    human = style == "human" or (style == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(Readable() if human else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = name != "uvicorn.access"  # ours says more
    if level != "debug":
        logging.getLogger("uvicorn.error").setLevel("WARNING")
        logging.getLogger("alembic").setLevel("WARNING")
