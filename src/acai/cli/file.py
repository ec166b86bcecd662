"""`acai file`: send, fetch and look at files; and the `get` of `acai set`."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group
from acai.cli.progress import progress_bar
from acai.client.transfer.values import Downloaded, Uploaded
from acai.model.errors import NotFound
from acai.model.files import EntryKind, FileVersion, Listing
from acai.model.quantities import format_size
from acai.model.references import (
    DirectoryRef,
    FileRef,
    escape_path,
    parse_set_reference,
    parse_spec,
)

_REFERENCES_SHOWN = 10


@command(
    "put",
    example="acai file put data/ /data/\nacai file put train.json test.json /data/\n"
    "acai file put train.json /data/train-2.json",
)
@click.argument("local", nargs=-1, required=True)
@click.argument("remote")
@click.option(
    "--skip-unreadable",
    is_flag=True,
    help="Leave out files that cannot be read, keep changing or have a forbidden name.",
)
def put(invocation: Invocation, local: tuple[str, ...], remote: str, skip_unreadable: bool) -> None:
    """Send files and directories to REMOTE: all of them appear together, or none.

    A directory's content goes under REMOTE. Several LOCALs need a REMOTE that ends in '/'; a
    directory among them keeps its name, unless it is written with a '/' at its end. Content
    that the project has is not sent again. Interrupted? Run the same command again.
    """
    with (
        _resumable("The upload is not finished; run the same command again and it goes on."),
        progress_bar(invocation, "uploading") as on_progress,
    ):
        done = invocation.client.upload(
            list(local),
            remote,
            skip_unreadable=skip_unreadable,
            on_progress=on_progress,
            on_note=invocation.note,
        )
    invocation.answer(done, lambda: _show_upload(invocation, done, remote))


def _show_upload(invocation: Invocation, done: Uploaded, remote: str) -> None:
    if done.files is not None and len(done.files) <= _REFERENCES_SHOWN:
        for file in done.files:
            click.echo(output.visible(str(FileRef(path=file.path, version=file.version))))
    else:
        size = format_size(done.size)
        click.echo(f"{done.file_count:,} files ({size}) are in {output.visible(remote)}.")
    if done.deduplicated_files:
        invocation.note(
            f"{format_size(done.sent_bytes)} sent;"
            f" the content of {_files(done.deduplicated_files)} was here already."
        )


@command("get", example="acai file get /data/ out/\nacai file get /data/train.json:2 old.json")
@click.argument("remote")
@click.argument("local")
@click.option("--force", is_flag=True, help="Overwrite files that have other content.")
def get(invocation: Invocation, remote: str, local: str, force: bool) -> None:
    """Fetch REMOTE, a file, a directory or a part of a set, below the directory LOCAL.

    Lake paths are mirrored: /data/a.txt becomes LOCAL/data/a.txt. For a single file, a LOCAL
    that is no directory and does not end in '/' is the name it gets. What is there already
    with the right content is not fetched again. Interrupted? Run the same command again.
    """
    _download(invocation, remote, local, force)


@command("get", example="acai set get HotpotQA:2 data/")
@click.argument("set_", metavar="SET")
@click.argument("directory", metavar="DIR")
@click.option("--force", is_flag=True, help="Overwrite files that have other content.")
def set_get(invocation: Invocation, set_: str, directory: str, force: bool) -> None:
    """Fetch all files of SET below the directory DIR, at their lake paths."""
    ref = parse_set_reference(set_)
    _download(invocation, f"@{ref}", directory, force)


def _download(invocation: Invocation, reference: str, local: str, force: bool) -> None:
    with (
        _resumable("The download is not finished; run the same command again and it goes on."),
        progress_bar(invocation, "downloading") as on_progress,
    ):
        done = invocation.client.download(
            reference, local, force=force, on_progress=on_progress, on_note=invocation.note
        )
    invocation.answer(done, lambda: _show_download(invocation, done))


def _show_download(invocation: Invocation, done: Downloaded) -> None:
    target = output.visible(done.target)
    click.echo(f"{_files(done.file_count)} ({format_size(done.size)}) in {target}.")
    if done.unchanged_files:
        invocation.note(f"{_files(done.unchanged_files)} had the right content already.")


@command("ls", example="acai file ls\nacai file ls -l /data/\nacai file ls /data/@HotpotQA:2")
@click.argument("path", default="/")
@click.option("-l", "--long", is_flag=True, help="Also version, size, creator and time.")
def ls(invocation: Invocation, path: str, long: bool) -> None:
    """List what lies right in the directory PATH; directories end in '/'."""
    found = _listing(invocation, path)
    if invocation.json:
        output.print_json(list(found))
        return
    for line in found:
        name = output.visible(escape_path(line.path))
        click.echo(_long(line, name) if long else name)


def _listing(invocation: Invocation, path: str) -> Iterator[Listing]:
    ref = parse_spec(path)
    if ref.set is not None:
        yield from _in_set(invocation, ref)
        return
    if isinstance(ref, FileRef) and ref.version is not None:
        yield _line(invocation.client.find_file(path))
        return
    try:
        yield from invocation.client.list_files(path)
    except NotFound:
        if isinstance(ref, DirectoryRef):
            raise
        yield _line(invocation.client.find_file(path))


def _in_set(invocation: Invocation, ref: FileRef | DirectoryRef) -> Iterator[Listing]:
    above = ref.directory if isinstance(ref, DirectoryRef) else ""
    last = ""
    for file in invocation.client.resolve(str(ref)):
        name, slash, _ = file.path[len(above) :].partition("/")
        if above and slash:
            directory = f"{above}{name}/"
            if directory != last:
                yield Listing(kind=EntryKind.DIRECTORY, path=directory)
            last = directory
            continue
        yield Listing(
            kind=EntryKind.FILE,
            path=file.path,
            version=file.version,
            size=file.size,
            hash=file.hash,
        )


def _line(file: FileVersion) -> Listing:
    return Listing(
        kind=EntryKind.FILE,
        path=file.path,
        version=file.version,
        size=file.size,
        hash=file.hash,
        content_type=file.content_type,
        creator=file.creator,
        create_time=file.create_time,
    )


def _long(line: Listing, name: str) -> str:
    """A line with fixed columns: the first is shown before the last is known."""
    version = "" if line.version is None else str(line.version)
    size = "" if line.size is None else format_size(line.size)
    when = output.local_time(line.create_time) or ""
    creator = output.visible(line.creator or "")
    return f"{version:>5}  {size:>9}  {creator:<12}  {when:<19}  {name}"


@command("versions", example="acai file versions /data/train.json")
@click.argument("path")
def versions(invocation: Invocation, path: str) -> None:
    """List the versions of the file PATH, newest first."""
    found = invocation.client.file_versions(path)
    if invocation.json:
        output.print_json(list(found))
        return
    _print_versions(found)


def _print_versions(found: Iterable[FileVersion]) -> None:
    rows = [
        (
            FileRef(path=file.path, version=file.version),
            format_size(file.size),
            file.creator,
            output.local_time(file.create_time),
            file.hash[:12],
        )
        for file in found
    ]
    output.print_table(("file", "size", "creator", "created", "hash"), rows, right=("size",))


@command("cat", example="acai file cat /data/train.json:2 | head")
@click.argument("reference", metavar="REF")
def cat(invocation: Invocation, reference: str) -> None:
    """Write the content of the file REF to standard output, byte by byte as it is."""
    if invocation.json:
        file = next(invocation.client.resolve(reference))
        data = invocation.client.read_bytes(reference)
        shown = {"path": file.path, "version": file.version, "size": file.size, "hash": file.hash}
        output.print_json({**shown, "base64": base64.b64encode(data).decode()})
        return
    for chunk in invocation.client.stream_bytes(reference):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


@command("rm", example="acai file rm /data/old.json -y\nacai file rm /tmp/ -y")
@click.argument("path")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def rm(invocation: Invocation, path: str, yes: bool) -> None:
    """Take the file PATH, or all under a directory, out of listings. Every version is kept."""
    invocation.confirm(f"Remove {path} from listings?", yes)
    gone = invocation.client.remove_file(path)
    shown = output.visible(path)
    invocation.answer(
        gone,
        lambda: click.echo(f"{shown}: {_files(gone.hidden)} removed; every version is kept."),
    )


def _files(number: int) -> str:
    return f"{number:,} file" if number == 1 else f"{number:,} files"


@contextmanager
def _resumable(hint: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo(hint, err=True)
        raise


file = group("file", "Send, fetch, list and remove files.", put, get, ls, versions, cat, rm)
