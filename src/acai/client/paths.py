"""Lake paths as users write them, where a path is meant and not one of its versions."""

from __future__ import annotations

from acai.model.errors import InvalidInput
from acai.model.references import DirectoryRef, parse_spec


def bare_path(reference: str) -> str:
    """The path that a reference names. Raises InvalidInput for one with a version or a set."""
    ref = parse_spec(reference)
    if isinstance(ref, DirectoryRef):
        path, pinned = ref.directory, ref.set is not None
    else:
        path, pinned = ref.path, ref.set is not None or ref.version is not None
    if pinned:
        raise InvalidInput(
            f"{reference} names what is already there; give a path without a version or a set"
        )
    return path
