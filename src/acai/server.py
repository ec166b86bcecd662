"""One server process: its home, its port, and its life from start to a clean stop."""

from __future__ import annotations

import errno
import fcntl
import gc
import getpass
import ipaddress
import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from acai import wiring
from acai.api import logs
from acai.client.credentials import LOCAL, Credentials, Login
from acai.identity.service import FirstStart
from acai.identity.tokens import parse_token
from acai.model.errors import AlreadyRunning, InvalidSetting, StorageFull, Unavailable
from acai.settings import Settings
from acai.stores.records.database import sqlite_file

_BACKLOG = 2048


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What a server says of itself once it answers."""

    url: str
    first: bool  # whether this start made the platform
    link: str | None  # opens the dashboard signed in, once, on this machine


def serve(settings: Settings, on_ready: Callable[[Ready], None]) -> None:
    """Run until SIGINT or SIGTERM; `on_ready` is called once it answers.

    Raises before anything is changed when the home is unusable, another server holds it, or
    the port is taken.
    """
    sqlite_file(settings.database_url)  # refuses a malformed URL before there is a home
    with (
        _prepared(settings.home),
        _held(settings.home) as lock,
        _listening(settings) as listener,
    ):
        logs.configure(settings.log_level, settings.log_format)
        platform = wiring.build(settings)
        try:
            first = wiring.first_start(
                platform, local_user_name(), lambda made: _keep_tokens(settings.home, made)
            )
            url = _address(settings, listener)
            local = _local_address(settings, listener)
            _announce(lock, url, local)
            platform.listens_at(local)
            ready = Ready(url=url, first=first is not None, link=_link(settings, platform, local))
            config = uvicorn.Config(
                platform.app(),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=True,
                forwarded_allow_ips=settings.trusted_proxies,
                timeout_graceful_shutdown=10,
                timeout_keep_alive=75,
                backlog=_BACKLOG,
            )
            server = _Server(config, lambda: on_ready(ready), platform.services.hints.close)
            settle_collector()
            server.run(sockets=[listener])
            if not server.started:
                raise Unavailable("the server could not start; the lines above say why")
        finally:
            platform.close()


def settle_collector() -> None:
    """Keep the garbage collector out of the way of answers with tens of thousands of values.

    What was loaded at the start stays for good and need not be looked through again; and with
    the interpreter's own threshold a large answer is searched for cycles, which it has none of,
    hundreds of times while it is built.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], leaving: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._leaving = leaving

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM ask for a clean stop, and that is all: a stop that was asked for
        is no failure, so the signal is not raised again afterwards."""
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams last as long as their watchers like; they are ended first."""
        self._leaving()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def _prepared(home: Path) -> Iterator[None]:
    """Make the home if it is missing, and take it away again if nothing came of the start."""
    missing = not home.exists()
    prepare_home(home)
    try:
        yield
    except BaseException:
        if missing:
            with suppress(OSError):  # not empty: then there is something to keep
                home.rmdir()
        raise


def prepare_home(home: Path) -> None:
    """Make the home, private to its owner, or say what is wrong with it."""
    probe = home / f".probe-{os.getpid()}"
    try:
        if home.exists() and not home.is_dir():
            raise InvalidSetting(f"the home {home} is a file; name a directory with --home")
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            probe.write_bytes(b"0" * 4096)
        finally:
            probe.unlink(missing_ok=True)
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
    lock = home / "server.lock"
    fresh = not lock.exists()
    descriptor = _lock(home, lock)
    try:
        os.ftruncate(descriptor, 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    except BaseException:
        if fresh:
            lock.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _lock(home: Path, lock: Path) -> int:
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InvalidSetting(f"{lock} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A start that failed may have unlinked the file between our open and our lock.
            if lock.exists() and os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            running = running_server(home) or {}
            where = f" at {running['url']} (process {running['pid']})" if running else ""
            raise AlreadyRunning(
                f"acai is already running on {home}{where}; use it, or stop it first", **running
            ) from None
        os.close(descriptor)


def _announce(lock: int, url: str, local: str) -> None:
    os.pwrite(lock, json.dumps({"url": url, "local": local, "pid": os.getpid()}).encode(), 0)


def running_server(home: Path) -> dict[str, Any] | None:
    """Address and process of the server that last announced itself in this home."""
    try:
        found = json.loads((home / "server.lock").read_text())
        return {"url": str(found["url"]), "pid": int(found["pid"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
            # Only a socket that listens keeps others from the port.
            listener.listen(_BACKLOG)
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
    """Where others reach the server."""
    return settings.public_url.rstrip("/") or _local_address(settings, listener)


def _local_address(settings: Settings, listener: socket.socket) -> str:
    """Where programs on this machine reach it, whatever stands in front for others."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _link(settings: Settings, platform: wiring.Platform, local: str) -> str | None:
    """The dashboard's address with a word that signs this home's user in; loopback only."""
    if not _is_loopback(settings.host):
        return None
    login = Credentials.load(settings.home).find(LOCAL, None)
    token = parse_token(login.token) if login else None
    if token is None:
        return None
    return f"{local}/#link={platform.services.sessions.offer_link(token.lookup)}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def local_user_name() -> str:
    """The login name, bent into a user's name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "me"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:63].lstrip("._-") or "me"


def _keep_tokens(home: Path, first: FirstStart) -> None:
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
