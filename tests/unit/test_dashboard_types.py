"""The dashboard's types are those of today's API, and its lock file names no registry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_types_are_of_this_api() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "dashboard_types.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


def test_the_lock_file_names_no_registry_and_every_platform() -> None:
    lock = json.loads((ROOT / "dashboard" / "package-lock.json").read_text("utf-8"))
    packages = lock["packages"]
    assert not [name for name, one in packages.items() if "resolved" in one]
    builders = {name.rpartition("binding-")[2] for name in packages if "/binding-" in name}
    assert {"linux-x64-gnu", "linux-arm64-gnu", "darwin-arm64", "win32-x64-msvc"} <= builders
