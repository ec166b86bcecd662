"""Small file systems of their own, for tests of full and read-only disks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

AS_ROOT = os.geteuid() == 0


@contextmanager
def mounted(directory: Path, *options: str) -> Iterator[Path]:
    """A file system of one megabyte in memory, unless the options say otherwise."""
    if not AS_ROOT:
        pytest.skip("only root can mount the file system that this test needs")
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(("size=1m", *options)), "tmpfs"]
    done = subprocess.run([*mount, str(directory)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def make_read_only(directory: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
