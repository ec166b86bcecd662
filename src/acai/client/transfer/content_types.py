"""What a file holds, by the end of its name, the same on every machine."""

from __future__ import annotations

import mimetypes
from functools import cache

_OURS = {
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".md": "text/markdown",
    ".npy": "application/x-npy",
    ".npz": "application/x-npz",
    ".parquet": "application/vnd.apache.parquet",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".gz": "application/gzip",
    ".bz2": "application/x-bzip2",
    ".xz": "application/x-xz",
    ".zst": "application/zstd",
}


def content_type(path: str) -> str | None:
    name = path[path.rindex("/") + 1 :]
    dot = name.rfind(".")
    return _of_suffix(name[dot:].lower()) if dot > 0 else None


@cache
def _table() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()  # Python's own table: no file of the system is read


@cache
def _of_suffix(suffix: str) -> str | None:
    return _OURS.get(suffix) or _table().guess_type(f"file{suffix}")[0]
