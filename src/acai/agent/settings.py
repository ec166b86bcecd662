"""What an agent is told when it is started: by its launcher, or by the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acai.model.errors import InvalidSetting
from acai.model.quantities import parse_size

CACHE_SIZE = 20 * 10**9
PATIENCE = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    server: str
    token: str = field(repr=False)  # good for this job only
    job: str
    attempt: int
    project: str
    run_dir: Path  # of this attempt alone
    cache_dir: Path  # of every agent on this host
    server_file: Path | None = None  # names the server's present address, as {"url", "local"}
    enforce: bool = True  # limit the program here, because nothing around the agent does
    cache_size: int = CACHE_SIZE
    patience: float = PATIENCE  # seconds of silence after which the server is given up

    @property
    def handle(self) -> str:
        return f"{self.job}.{self.attempt}"


def from_env(environ: Mapping[str, str] = os.environ) -> AgentSettings:
    """Raises InvalidSetting that names the variable."""
    attempt = _given(environ, "ACAI_ATTEMPT")
    if not attempt.isdecimal():
        raise InvalidSetting(f"ACAI_ATTEMPT is {attempt!r}; it has to be a whole number")
    server_file = environ.get("ACAI_SERVER_FILE")
    cache_size = environ.get("ACAI_CACHE_SIZE")
    return AgentSettings(
        server=_given(environ, "ACAI_SERVER").rstrip("/"),
        token=_given(environ, "ACAI_TOKEN"),
        job=_given(environ, "ACAI_JOB_ID"),
        attempt=int(attempt),
        project=_given(environ, "ACAI_PROJECT"),
        run_dir=Path(_given(environ, "ACAI_RUN_DIR")).absolute(),
        cache_dir=Path(_given(environ, "ACAI_CACHE_DIR")).absolute(),
        server_file=Path(server_file).absolute() if server_file else None,
        enforce=environ.get("ACAI_ENFORCE", "1").lower() not in ("0", "false", "no", ""),
        cache_size=parse_size(cache_size) if cache_size else CACHE_SIZE,
    )


def _given(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise InvalidSetting(f"{name} is not set; an agent is started by a launcher, which sets it")
    return value
