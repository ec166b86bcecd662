"""Every setting of the server, in one typed table.

A setting comes from its flag (`--name`), else its variable (`ACAI_NAME`), else its line in
`config.toml` under `[server]`, else its default. They are read once, at start-up.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acai.model.errors import AcaiError, InvalidSetting
from acai.model.quantities import parse_duration, parse_size

LAUNCHERS = ("local", "ray", "slurm", "kubernetes")


def _path(text: str) -> Path:
    odd = next((char for char in "?%" if char in text), None)
    if odd is not None:  # they have a meaning in the URLs that are made of it
        raise InvalidSetting(f"{text!r} cannot be a directory of acai: leave the {odd!r} out")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidSetting(f"{text!r} is not a directory: {error}") from None


def _port(text: str) -> int:
    number = _whole(text)
    if not 0 <= number <= 65535:
        raise InvalidSetting(f"{text} is not a port; choose one from 1 to 65535")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidSetting(f"{text!r} is not a whole number") from None


def _count(text: str) -> int:
    number = _whole(text)
    if number < 1:
        raise InvalidSetting(f"{text} is too small; write 1 or more")
    return number


def _cores(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InvalidSetting(f"{text!r} is not a number of cores") from None
    if not 0 <= number < 1e6:
        raise InvalidSetting(f"{text} is not a number of cores; write for example 1.5")
    return number


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise InvalidSetting(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return parse


def _row(default: str, parse: Callable[[str], Any], help: str) -> Any:
    """One line of the table; `default` is written as a user would write it."""
    return field(metadata={"default": default, "parse": parse, "help": help})


@dataclass(frozen=True, kw_only=True)
class Settings:
    home: Path = _row("~/.acai", _path, "Directory of the embedded platform and of credentials.")
    host: str = _row("127.0.0.1", str, "Address to listen on; keep loopback unless behind TLS.")
    port: int = _row("7650", _port, "Port to listen on; 0 takes a free one.")
    database: str = _row("", str, "Database URL; empty is SQLite in the home.")
    storage: str = _row("", str, "Where bytes live: file://, s3://, gs:// or az://; empty is home.")
    launcher: str = _row("local", _one_of(*LAUNCHERS), "Where jobs run.")
    public_url: str = _row("", str, "Address that clients use, if a proxy stands in front.")
    trusted_proxies: str = _row("127.0.0.1", str, "Proxies whose X-Forwarded-* headers count.")
    log_level: str = _row("info", _one_of("debug", "info", "warning", "error"), "How much to log.")
    log_format: str = _row(
        "auto", _one_of("auto", "human", "json"), "auto: human on a terminal, else JSON lines."
    )
    body_limit: int = _row("32MiB", parse_size, "Largest request body that is not a file's bytes.")
    auth_failures: int = _row("20", _count, "Failed sign-ins per minute and address before 429.")
    url_lifetime: float = _row("1h", parse_duration, "How long a signed upload or download holds.")
    upload_lifetime: float = _row("7d", parse_duration, "How long an idle upload session is kept.")
    sweep_interval: float = _row("60s", parse_duration, "How often abandoned things are swept.")
    database_connections: int = _row("16", _count, "Most database connections of one server.")
    job_limit: int = _row("16", _count, "Most active jobs of one user; see `acai job limit`.")
    job_cpu: float = _row("0", _cores, "CPU that jobs may have together; 0 is all there is.")
    job_memory: int = _row("0", parse_size, "Memory that jobs may have; 0 is what is there.")
    job_grace: float = _row("10s", parse_duration, "From asking a program to end to ending it.")
    job_lease: float = _row("30s", parse_duration, "Silence after which an unseen agent is lost.")
    job_patience: float = _row("2m", parse_duration, "Wait of a large job until others make way.")
    cache_size: int = _row("20GB", parse_size, "Inputs of jobs that are kept on their machine.")
    prices: str = _row("", str, "File of prices (TOML); empty is the built-in on-demand model.")

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.home / 'acai.db'}"

    @property
    def storage_url(self) -> str:
        return self.storage or (self.home / "objects").as_uri()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A row of the table as documentation shows it."""

    name: str
    default: str
    help: str
    parse: Callable[[str], Any]

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "ACAI_" + self.name.upper()


TABLE: tuple[Setting, ...] = tuple(
    Setting(
        name=row.name,
        default=row.metadata["default"],
        help=row.metadata["help"],
        parse=row.metadata["parse"],
    )
    for row in dataclasses.fields(Settings)
)


def load(flags: Mapping[str, str | None], environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from flags, environment and the home's `config.toml`, in that order.

    Raises InvalidSetting naming the setting, where its value came from, and the remedy.
    """
    home_text, source = _pick("home", flags, environ, {}) or ("~/.acai", "the default")
    home: Path = _parse(TABLE[0], home_text, source)
    lines = _config_lines(home / "config.toml")
    values: dict[str, Any] = {"home": home}
    for row in TABLE[1:]:
        text, source = _pick(row.name, flags, environ, lines) or (row.default, "the default")
        values[row.name] = _parse(row, text, source)
    return Settings(**values)


def _pick(
    name: str, flags: Mapping[str, str | None], environ: Mapping[str, str], lines: dict[str, Any]
) -> tuple[str, str] | None:
    row = next(row for row in TABLE if row.name == name)
    flag = flags.get(name)
    if flag is not None:
        return flag, row.flag
    if environ.get(row.variable):
        return environ[row.variable], row.variable
    if name in lines:
        if not isinstance(lines[name], str | int | float):
            raise InvalidSetting(f"{name} (config.toml): write one value, a text or a number")
        return str(lines[name]), "config.toml"
    return None


def _parse(row: Setting, text: str, source: str) -> Any:
    try:
        return row.parse(text)
    except AcaiError as error:
        raise InvalidSetting(f"{row.name} ({source}): {error.message}", name=row.name) from None


def _config_lines(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} cannot be read: {error}") from error
    try:
        lines = tomllib.loads(text).get("server", {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"{file} is not valid TOML: {error}") from error
    if not isinstance(lines, dict):
        raise InvalidSetting(f"{file}: [server] must be a table of settings")
    unknown = sorted(set(lines) - {row.name for row in TABLE[1:]})
    if unknown:
        raise InvalidSetting(
            f"{file}: unknown setting {unknown[0]!r} under [server]; see `acai up --help`"
        )
    return lines
