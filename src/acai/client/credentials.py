"""Who am I, and where: `credentials.toml` in the home, readable by its owner only."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acai.model.errors import InvalidInput, InvalidSetting

LOCAL = "local"  # stands for this home's own server, whatever its port is today
DEFAULT_SERVER = "http://127.0.0.1:7650"
_URL = re.compile(r"[!-~]+")  # what a URL may hold: ASCII that shows


@dataclass(frozen=True, kw_only=True)
class Login:
    server: str
    project: str  # empty: the global admin
    user: str
    token: str

    def __repr__(self) -> str:
        return f"Login({self.user}@{self.project or '*'} on {self.server})"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The logins of one home, the current one first."""

    logins: tuple[Login, ...] = ()

    @staticmethod
    def load(home: Path) -> Credentials:
        """What is stored; nothing if there is no file. Raises InvalidSetting if it is broken."""
        file = home / "credentials.toml"
        try:
            raw = tomllib.loads(file.read_text("utf-8"))
            return Credentials(
                logins=tuple(
                    Login(
                        server=row["server"],
                        project=row["project"],
                        user=row["user"],
                        token=row["token"],
                    )
                    for row in raw.get("login", [])
                )
            )
        except (FileNotFoundError, NotADirectoryError):
            return Credentials()
        except OSError as error:
            raise InvalidSetting(f"{file} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise InvalidSetting(
                f"{file} is damaged ({error}); mend it, or remove it and run `acai login`"
            ) from error

    def with_login(self, login: Login, *, current: bool = False) -> Credentials:
        """The same, with this login in place of an older one for the same server and project."""
        key = (login.server, login.project)
        others = tuple(one for one in self.logins if (one.server, one.project) != key)
        stays_first = bool(self.logins) and (self.logins[0].server, self.logins[0].project) == key
        if current or stays_first:
            return replace(self, logins=(login, *others))
        return replace(self, logins=(*others, login))

    def save(self, home: Path) -> None:
        """Replace the file as a whole, never readable by others, not even for a moment."""
        lines = ["# Written by acai. The first login is the current one. Keep this file private.\n"]
        for login in self.logins:
            lines.append("\n[[login]]\n")
            lines += [
                f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
                for key, value in vars(login).items()
            ]
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = home / f"credentials.toml.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                os.fchmod(out.fileno(), 0o600)
                out.writelines(lines)
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(home / "credentials.toml")
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def find(self, server: str, project: str | None) -> Login | None:
        """The login for this server, in this project if one is named.

        Without a project, a user's login comes before the global admin's.
        """
        here = [login for login in self.logins if login.server == server]
        if project is not None:
            return next((login for login in here if login.project == project), None)
        return next((login for login in here if login.project), here[0] if here else None)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where to send requests, and as whom."""

    server: str
    token: str | None
    project: str | None  # only when it was named: the token knows its own

    def __repr__(self) -> str:
        return f"Target({self.server}, project={self.project})"


def home_directory(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("ACAI_HOME") or "~/.acai").expanduser().absolute()


def discover(
    *,
    server: str | None = None,
    token: str | None = None,
    project: str | None = None,
    as_global_admin: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Target:
    """Flag beats environment beats file. `as_global_admin` prefers a stored admin's login."""
    home = home_directory(environ)
    lines = _client_lines(home)
    project = project or environ.get("ACAI_PROJECT") or lines.get("project")
    token = token or (environ.get("ACAI_TOKEN") or "").strip() or None
    stored = Credentials.load(home)
    server = server or environ.get("ACAI_SERVER") or lines.get("server")
    local = _local_server(home)
    if server is None:
        server = stored.logins[0].server if stored.logins else LOCAL
    server = normal_server(server) if server != LOCAL else LOCAL
    if server == local:
        server = LOCAL
    if token is None:
        login = stored.find(server, "") if as_global_admin else None
        login = login or stored.find(server, project)
        if login is None and project is not None:
            login = stored.find(server, "")  # the global admin may act in any project
        login = login or stored.find(server, None)
        token = login.token if login else None
    return Target(
        server=(local or DEFAULT_SERVER) if server == LOCAL else server,
        token=token,
        project=project,
    )


def normal_server(url: str) -> str:
    """`host:port` and trailing slashes made whole; raises InvalidInput for what is no address.

    Without a scheme, only this machine is spoken to in the clear: a token must not travel so.
    """
    plain = re.match(r"(localhost|127\.[0-9.]+|\[::1\])(:|/|$)", url)
    whole = (url if "://" in url else f"{'http' if plain else 'https'}://{url}").rstrip("/")
    scheme, _, rest = whole.partition("://")
    if scheme not in ("http", "https") or not rest.strip("/") or not _URL.fullmatch(rest):
        raise InvalidInput(f"{url!r} is not a server's address; write http://HOST:PORT")
    return whole


def _client_lines(home: Path) -> dict[str, str]:
    file = home / "config.toml"
    try:
        found: Any = tomllib.loads(file.read_text("utf-8")).get("client", {})
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSetting(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InvalidSetting(f"{file}: [client] must be a table of settings")
    return {key: str(value) for key, value in found.items() if key in ("server", "project")}


def _local_server(home: Path) -> str | None:
    try:
        found: str = json.loads((home / "server.lock").read_text())["local"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
