"""Is this machine set up well? Each check looks at one thing and says how to mend it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path

from acai.agent.limits.choose import cgroup_rights
from acai.client.credentials import Target
from acai.client.transport import HttpTransport
from acai.model.errors import AcaiError
from acai.model.quantities import format_size
from acai.settings import Settings
from acai.stores.objects.browsers import lets_in
from acai.stores.objects.opening import open_store
from acai.stores.records.database import open_database, sqlite_file, translated
from acai.stores.records.migrate import HEAD, revision

_ROOM_NEEDED = 1_000_000_000
_CLOCK_TOLERANCE = 30.0


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Finding:
    name: str
    health: Health
    found: str
    remedy: str | None = None


def examine(settings: Settings, target: Target) -> Iterator[Finding]:
    """Every check in turn. A check that breaks is itself a finding, never an exception."""
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("python", _python),
        ("home", lambda: _home(settings.home)),
        ("disk", lambda: _disk(settings.home)),
        ("database", lambda: _database(settings)),
        ("objects", lambda: _objects(settings)),
        ("launcher", lambda: _launcher(settings)),
        ("cgroups", _cgroups),
        ("server", lambda: _server(target)),
        ("clock", lambda: _clock(target)),
    )
    for name, check in checks:
        try:
            yield check()
        except AcaiError as error:
            yield Finding(name=name, health=Health.FAILED, found=error.message)
        except Exception as error:
            found = f"{type(error).__name__}: {error}".splitlines()[0]
            yield Finding(name=name, health=Health.FAILED, found=found)


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < (3, 11):  # noqa: UP036  pip may have been told not to look
        return Finding(
            name="python",
            health=Health.FAILED,
            found=version,
            remedy="install Python 3.11 or newer",
        )
    return Finding(name="python", health=Health.OK, found=f"{version} at {sys.executable}")


def _home(home: Path) -> Finding:
    if home.exists() and not home.is_dir():
        remedy = "name a directory with --home or ACAI_HOME"
        return Finding(name="home", health=Health.FAILED, found=f"{home} is a file", remedy=remedy)
    if not home.exists():
        remedy = "the first `acai up` makes it"
        return Finding(
            name="home", health=Health.OK, found=f"{home} does not exist yet", remedy=remedy
        )
    if not os.access(home, os.W_OK | os.X_OK):
        remedy = f"give yourself the right to write: chmod u+rwx {home}"
        return Finding(
            name="home", health=Health.FAILED, found=f"{home} is not writable", remedy=remedy
        )
    secret = home / "credentials.toml"
    if secret.exists() and secret.stat().st_mode & 0o077:
        return Finding(
            name="home",
            health=Health.WARNING,
            found=f"others can read {secret}",
            remedy=f"chmod 600 {secret}",
        )
    return Finding(name="home", health=Health.OK, found=str(home))


def _disk(home: Path) -> Finding:
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < _ROOM_NEEDED:
        return Finding(
            name="disk",
            health=Health.WARNING if free > _ROOM_NEEDED / 10 else Health.FAILED,
            found=f"{format_size(free)} free",
            remedy="free some space, or move the home to another disk with --home",
        )
    return Finding(name="disk", health=Health.OK, found=f"{format_size(free)} free")


def _database(settings: Settings) -> Finding:
    file = sqlite_file(settings.database_url)
    if file is not None and not file.exists():
        remedy = "the first `acai up` makes it"
        return Finding(
            name="database", health=Health.OK, found=f"{file} does not exist yet", remedy=remedy
        )
    database = open_database(settings.database_url, connections=1)
    try:
        with translated(), database.engine.connect() as connection:
            found = revision(connection)
        kind = database.dialect
    finally:
        database.close()
    if found is not None and found > HEAD:
        return Finding(
            name="database",
            health=Health.FAILED,
            found=f"{kind}, schema {found}, newer than this acai's {HEAD}",
            remedy="upgrade acai: pip install -U acai",
        )
    return Finding(name="database", health=Health.OK, found=f"{kind}, schema {found or 'none yet'}")


def _objects(settings: Settings) -> Finding:
    place = settings.storage_url.split("?")[0]
    if not settings.storage and not (settings.home / "objects").exists():
        return Finding(
            name="objects",
            health=Health.OK,
            found=f"{place} does not exist yet",
            remedy="the first `acai up` makes it",
        )
    started = time.perf_counter()
    store = open_store(settings.storage_url, sign_secret=b"doctor")
    store.check()
    spent = (time.perf_counter() - started) * 1000
    origin = settings.public_url or f"http://{settings.host}:{settings.port}"
    if not lets_in(store, origin):
        return Finding(
            name="objects",
            health=Health.WARNING,
            found=f"{place} answers, but refuses the dashboard's previews and uploads",
            remedy=f"allow {origin} in its CORS rules: docs/deployment.md, Object stores",
        )
    return Finding(
        name="objects",
        health=Health.OK,
        found=f"{place} answers and can be written ({spent:.0f} ms)",
    )


def _launcher(settings: Settings) -> Finding:
    return Finding(
        name="launcher",
        health=Health.OK,
        found=f"{settings.launcher}, {os.cpu_count()} CPUs here",
    )


def _cgroups() -> Finding:
    rights = cgroup_rights()
    if rights.writable:
        return Finding(name="cgroups", health=Health.OK, found=rights.reason)
    return Finding(
        name="cgroups",
        health=Health.WARNING,
        found=rights.reason,
        remedy="run as root, or ask for a delegated cgroup (systemd: Delegate=yes)",
    )


def _server(target: Target) -> Finding:
    transport = HttpTransport()
    try:
        started = time.perf_counter()
        reply = transport.send("GET", f"{target.server}/readyz", headers={})
        body = reply.read().decode("utf-8", "replace")
    except AcaiError as error:
        return Finding(name="server", health=Health.WARNING, found=error.message)
    finally:
        transport.close()
    spent = (time.perf_counter() - started) * 1000
    if reply.status != 200:
        return Finding(
            name="server",
            health=Health.FAILED,
            found=f"{target.server} is not ready: {body[:200]}",
            remedy="look into the server's log",
        )
    return Finding(
        name="server", health=Health.OK, found=f"{target.server} is ready ({spent:.0f} ms)"
    )


def _clock(target: Target) -> Finding:
    now = datetime.now(UTC)
    if now.year < 2024:
        return Finding(
            name="clock",
            health=Health.FAILED,
            found=f"this machine thinks it is {now:%Y-%m-%d}",
            remedy="set the clock, or turn on NTP",
        )
    transport = HttpTransport()
    try:
        reply = transport.send("GET", f"{target.server}/healthz", headers={})
        reply.read()
        theirs = parsedate_to_datetime(reply.headers["date"])
    except (AcaiError, KeyError, ValueError):
        return Finding(name="clock", health=Health.OK, found=f"{now:%Y-%m-%d %H:%M:%S} UTC")
    finally:
        transport.close()
    apart = abs((now - theirs).total_seconds())
    if apart > _CLOCK_TOLERANCE:
        return Finding(
            name="clock",
            health=Health.WARNING,
            found=f"{apart:.0f} s apart from the server's",
            remedy="turn on NTP on both machines; signed URLs depend on it",
        )
    return Finding(name="clock", health=Health.OK, found="agrees with the server's")
