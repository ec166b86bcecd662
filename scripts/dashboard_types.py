"""Write the dashboard's types out of the API's OpenAPI document; `--check` only compares.

The file begins with a digest of the document it was made of, so that the comparison needs no
Node. The platform's version is not part of it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from acai import wiring
from acai.settings import load

DASHBOARD = Path(__file__).parents[1] / "dashboard"
TYPES = DASHBOARD / "src" / "api" / "schema.d.ts"


def document() -> str:
    """The document as a server would give it, in an order that does not change."""
    with tempfile.TemporaryDirectory(prefix="acai-openapi-") as home:
        platform = wiring.build(load({"home": home, "port": "0"}, {}))
        try:
            found = platform.app().openapi()
        finally:
            platform.close()
    found["info"]["version"] = ""
    return json.dumps(found, indent=1, sort_keys=True)


def first_line(text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"// Made by `make types` of the OpenAPI document {digest}.\n"


def is_current() -> bool:
    return TYPES.read_text("utf-8").startswith(first_line(document()))


def write() -> None:
    text = document()
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        made = subprocess.run(
            [DASHBOARD / "node_modules" / ".bin" / "openapi-typescript", file.name],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    TYPES.write_text(first_line(text) + made, "utf-8")


if __name__ == "__main__":
    if "--check" not in sys.argv:
        write()
    elif not is_current():
        sys.exit(f"{TYPES} is not of today's API; run `make types`")
