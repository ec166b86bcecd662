"""Files of the lake as fsspec describes them: one dictionary each, under a name that opens it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acai.model.errors import InvalidReference
from acai.model.files import EntryKind, FileVersion, Listing
from acai.model.references import DirectoryRef, FileRef, SetRef, escape_path
from acai.model.sets import ResolvedFile

Info = dict[str, Any]


def as_directory(ref: FileRef | DirectoryRef) -> DirectoryRef:
    if isinstance(ref, DirectoryRef):
        return ref
    return DirectoryRef(directory=f"{ref.path}/", set=ref.set)


def latest(ref: FileRef | DirectoryRef) -> FileRef:
    """A path that can be written. Raises InvalidReference for a version or a set."""
    if isinstance(ref, DirectoryRef) or ref.version is not None or ref.set is not None:
        raise InvalidReference(
            f"{ref} cannot be written: give the path of a file, without a version or a set"
        )
    return ref


def full_name(project: str, path: str, version: int | None, origin: SetRef | None) -> str:
    pinned = f"@{origin}" if origin else f":{version}" if version else ""
    return f"{project}{escape_path(path.rstrip('/'))}{pinned}"


def file_info(
    project: str,
    file: FileVersion | ResolvedFile,
    version: int | None = None,
    origin: SetRef | None = None,
) -> Info:
    info: Info = {
        "name": full_name(project, file.path, version, origin),
        "size": file.size,
        "type": "file",
        "version": file.version,
        "sha256": file.hash,
    }
    if isinstance(file, FileVersion):
        info |= {"created": file.create_time, "creator": file.creator}
    return info


def directory_info(project: str, ref: DirectoryRef) -> Info:
    name = full_name(project, ref.directory, None, ref.set)
    return {"name": name, "size": 0, "type": "directory"}


def project_info(project: str) -> Info:
    return {"name": project, "size": 0, "type": "directory"}


def line_info(project: str, line: Listing) -> Info:
    if line.kind is EntryKind.DIRECTORY:
        return directory_info(project, DirectoryRef(directory=line.path))
    return {
        "name": full_name(project, line.path, None, None),
        "size": line.size,
        "type": "file",
        "version": line.version,
        "sha256": line.hash,
        "created": line.create_time,
        "creator": line.creator,
    }


def children_in_set(
    project: str, directory: DirectoryRef, files: Iterator[ResolvedFile]
) -> list[Info]:
    found: dict[str, Info] = {}
    for file in files:
        name, slash, _ = file.path[len(directory.directory) :].partition("/")
        if slash:
            below = DirectoryRef(directory=f"{directory.directory}{name}/", set=directory.set)
            found.setdefault(f"{name}/", directory_info(project, below))
        else:
            found[name] = file_info(project, file, None, directory.set)
    return list(found.values())
