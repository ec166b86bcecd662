"""What of a project changed: named as the API names what is to be read again.

Such a word is a hint. It says where to look, never what is there.
"""

from __future__ import annotations

from collections.abc import Callable

from acai.model.ids import ProjectId
from acai.model.metadata import EntityKind

FILES = "files"
SETS = "sets"
ANYTHING = "anything"  # words may have been lost

Tell = Callable[[ProjectId, str], None]  # to be called after the commit


def metadata_of(kind: EntityKind) -> str:
    return f"metadata/{kind}"


def usage_of(job: str) -> str:
    return f"jobs/{job}/usage"


def series_of(job: str) -> str:
    return f"jobs/{job}/series"


def tell_nobody(project: ProjectId, word: str) -> None:
    """For who has nobody to tell."""
