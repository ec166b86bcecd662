"""`python -m acai.agent`: for launchers that start a process for each attempt."""

from __future__ import annotations

import sys

from acai.agent.main import run
from acai.agent.settings import from_env
from acai.model.errors import InvalidSetting

if __name__ == "__main__":
    try:
        settings = from_env()
    except InvalidSetting as error:
        sys.exit(f"acai.agent: {error.message}")
    sys.exit(run(settings))
