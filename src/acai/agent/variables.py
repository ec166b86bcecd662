"""The environment variables of a program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from acai.agent.limits.base import thread_env
from acai.agent.settings import AgentSettings
from acai.model.assignments import Assignment


def program_variables(
    assignment: Assignment,
    settings: AgentSettings,
    inherited: Mapping[str, str],
    *,
    work: Path,
    output: Path,
    python: Path | None,
) -> dict[str, str]:
    """The agent's own without the platform's, then the user's, then what the platform promises.

    The platform's are left out because a server's settings may hold passwords.
    """
    given = {name: text for name, text in inherited.items() if not name.startswith("ACAI_")}
    given |= {"PYTHONUNBUFFERED": "1", **thread_env(assignment.cpu)}
    given |= assignment.env
    if python is not None:
        given["PATH"] = f"{python}{os.pathsep}{given.get('PATH', os.defpath)}"
        if (python.parent / "pyvenv.cfg").exists():
            given["VIRTUAL_ENV"] = str(python.parent)
            given.pop("PYTHONHOME", None)
    return given | {
        "ACAI_INPUT_DIR": str(work),
        "ACAI_OUTPUT_DIR": str(output),
        "ACAI_JOB_ID": assignment.job,
        "ACAI_ATTEMPT": str(assignment.attempt),
        "ACAI_PROJECT": assignment.project,
        "ACAI_SERVER": settings.server,
        "ACAI_TOKEN": settings.token,
    }
