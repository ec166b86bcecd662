"""One server process: its home, its port, and its life from start to a clean stop."""

from __future__ import annotations

import errno
import fcntl
import getpass
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from acai import wiring
from acai.api import logs
from acai.client.credentials import LOCAL, Credentials, Login
from acai.model.errors import AlreadyRunning, InvalidSetting, StorageFull, Unavailable
from acai.settings import Settings


def serve(settings: Settings, on_ready: Callable[[str, bool], None]) -> None:
    """Run until SIGINT or SIGTERM. `on_ready` gets the address, and whether it is the first start.

    Raises before anything is changed when the home is unusable, another server holds it, or
    the port is taken.
    """
    prepare_home(settings.home)
    with _held(settings.home) as lock, _listening(settings) as listener:
        logs.configure(settings.log_level, settings.log_format)
        platform = wiring.build(settings)
        try:
            first = wiring.first_start(platform, local_user_name())
            if first is not None:
                _store_first_credentials(settings.home, first)
            url = _address(settings, listener)
            _announce(lock, url)
            config = uvicorn.Config(
                platform.app(),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=True,
                forwarded_allow_ips=settings.trusted_proxies,
                timeout_graceful_shutdown=10,
                timeout_keep_alive=75,
                backlog=2048,
            )
            server = _Server(config, lambda: on_ready(url, first is not None))
            server.run(sockets=[listener])
        finally:
            platform.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def prepare_home(home: Path) -> None:
    """Make the home, private to its owner, or say what is wrong with it."""
    if home.exists() and not home.is_dir():
        raise InvalidSetting(f"the home {home} is a file; name a directory with --home")
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home / f".probe-{os.getpid()}"
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFull(f"the disk of the home {home} is full; free some space") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InvalidSetting(
                f"the home {home} cannot be written; fix its rights or choose another with --home"
            ) from error
        raise InvalidSetting(f"the home {home} cannot be used: {error.strerror}") from error


@contextmanager
def _held(home: Path) -> Iterator[int]:
    """Hold the home for this process; the kernel lets go of it however the process ends."""
    descriptor = os.open(home / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = running_server(home) or {}
            where = f" at {running['url']} (process {running['pid']})" if running else ""
            raise AlreadyRunning(
                f"acai is already running on {home}{where}; use it, or stop it first", **running
            ) from None
        os.ftruncate(descriptor, 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _announce(lock: int, url: str) -> None:
    os.pwrite(lock, json.dumps({"url": url, "pid": os.getpid()}).encode(), 0)


def running_server(home: Path) -> dict[str, Any] | None:
    """Address and process of the server that last announced itself in this home."""
    try:
        found: dict[str, Any] = json.loads((home / "server.lock").read_text())
        return found
    except (OSError, ValueError):
        return None


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InvalidSetting(
                    f"port {settings.port} on {settings.host} is taken by another program;"
                    " choose another with --port"
                ) from error
            raise InvalidSetting(
                f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
            ) from error
        listener.set_inheritable(True)
        yield listener


def _address(settings: Settings, listener: socket.socket) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"


def local_user_name() -> str:
    """The login name, bent into a user's name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "me"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:63].lstrip("._-") or "me"


def _store_first_credentials(home: Path, first: wiring.FirstStart) -> None:
    stored = Credentials.load(home).with_login(
        Login(server=LOCAL, project="", user=first.admin.user.name, token=first.admin.token)
    )
    user = Login(
        server=LOCAL,
        project=first.user.user.project or "",
        user=first.user.user.name,
        token=first.user.token,
    )
    try:
        stored.with_login(user, current=True).save(home)
    except OSError as error:
        raise Unavailable(f"the credentials cannot be stored in {home}: {error}") from error
