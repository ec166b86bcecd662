"""`acai set`: make, list, show, compare and remove sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group
from acai.cli.file import set_get
from acai.model.provenance import Trace
from acai.model.quantities import format_size
from acai.model.references import escape_path, parse_set_reference
from acai.model.sets import ChangeKind, FileChange, ResolvedFile, SetVersion

_FIRST_FILES = 10
_MARKS = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}


@command(
    "create",
    example="acai set create HotpotQA /data/\n"
    "acai set create HotpotQA @HotpotQA /data/train.json\n"
    "acai set create MergedQA @HotpotQA:2 @ColdpotQA --prefer last",
)
@click.argument("name")
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True)
@click.option("--prefer", type=click.Choice(["last"]), help="Who wins where sources disagree.")
def create(invocation: Invocation, name: str, specs: tuple[str, ...], prefer: str | None) -> None:
    """Make the next version of the set NAME from files, directories and other sets.

    SPEC is a file (/data/a.json, /data/a.json:2), a directory (/data/: the latest versions of
    what is in it), a set (@NAME) or a part of one (/data/@NAME:2). A file that is named, or a
    directory, replaces what sets before it gave; sets that disagree on a path are an error.
    """
    made = invocation.client.create_file_set(name, specs, prefer)
    invocation.answer(made, lambda: click.echo(f"Set {made.ref} is made: {_extent(made)}."))


@command("ls", example="acai set ls\nacai set ls HotpotQA")
@click.argument("name", required=False)
def ls(invocation: Invocation, name: str | None) -> None:
    """List the sets with their latest version, or all versions of the set NAME."""
    client = invocation.client
    found = list(client.list_sets() if name is None else client.set_versions(name))
    rows = [
        (
            one.ref,
            f"{one.file_count:,}",
            format_size(one.size),
            one.creator,
            output.local_time(one.create_time),
        )
        for one in found
    ]
    headers = ("set", "files", "size", "creator", "created")
    invocation.answer(found, lambda: output.print_table(headers, rows, right=("files", "size")))


@command("show", example="acai set show HotpotQA\nacai set show HotpotQA:1 --files")
@click.argument("set_", metavar="SET")
@click.option("--files", "all_files", is_flag=True, help="All files, not just the first ten.")
def show(invocation: Invocation, set_: str, all_files: bool) -> None:
    """Show what SET holds, who made it and when, and of which sets."""
    client = invocation.client
    one = client.get_set(set_)
    sources = client.trace(one, depth=1)
    listed = client.set_files(one)
    files = list(listed if all_files else islice(listed, _FIRST_FILES))
    document = {f.name: getattr(one, f.name) for f in fields(one)}
    invocation.answer(
        {**document, "sources": sources.edges, "files": files},
        lambda: _show(one, sources, files),
    )


def _show(one: SetVersion, sources: Trace, files: Sequence[ResolvedFile]) -> None:
    names = [str(node.set.ref) for node in sources.nodes[1:]]
    pairs: list[tuple[str, Any]] = [
        ("set", one.ref),
        ("files", f"{one.file_count:,}"),
        ("size", format_size(one.size)),
        ("creator", one.creator),
        ("created", output.local_time(one.create_time)),
        ("made of", ", ".join(names) or "files"),
        ("hash", one.hash),
    ]
    if one.job is not None:
        pairs.append(("job", one.job))
    if one.removed:
        pairs.append(("removed", "yes, from listings"))
    output.print_fields(pairs)
    click.echo()
    rows = [(escape_path(f.path), f.version, format_size(f.size)) for f in files]
    output.print_table(("path", "version", "size"), rows, right=("version", "size"))
    if len(files) < one.file_count:
        click.echo(f"… and {one.file_count - len(files):,} more: add --files")


@command("diff", example="acai set diff HotpotQA:1 HotpotQA:2\nacai set diff A B --summary")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--summary", is_flag=True, help="Only how many files differ.")
def diff(invocation: Invocation, before: str, after: str, summary: bool) -> None:
    """Show on which files the sets A and B differ: + is in B only, - in A only, ~ changed."""
    client = invocation.client
    counted = client.diff_summary(before, after)
    changes = () if summary else client.diff_sets(counted.before, counted.after)
    if invocation.json:
        document = {f.name: getattr(counted, f.name) for f in fields(counted)}
        output.print_json(document if summary else {**document, "changes": list(changes)})
        return
    for change in changes:
        click.echo(_change_line(change))
    click.echo(
        f"{counted.added:,} added, {counted.removed:,} removed, {counted.changed:,} changed"
        f" from {counted.before.ref} to {counted.after.ref}"
    )


def _change_line(change: FileChange) -> str:
    old, new = change.before, change.after
    path = output.visible(escape_path(change.path))
    if old is not None and new is not None:
        versions = f"version {old.version} → {new.version}"
        return f"~ {path}  {versions}, {format_size(old.size)} → {format_size(new.size)}"
    only = new or old
    assert only is not None
    return f"{_MARKS[change.change]} {path}:{only.version}  {format_size(only.size)}"


@command("rm", example="acai set rm HotpotQA:1 -y")
@click.argument("set_", metavar="SET")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def rm(invocation: Invocation, set_: str, yes: bool) -> None:
    """Take SET out of listings: NAME:VERSION one version, NAME all of them.

    Nothing is lost: a removed version is still found by its number, what was made of it still
    says so, and the next version of NAME gets the next number.
    """
    ref = parse_set_reference(set_)
    what = f"all versions of set {ref.name}" if ref.version is None else f"set {ref}"
    invocation.confirm(f"Remove {what} from listings?", yes)
    gone = invocation.client.remove_set(ref)

    def show_gone() -> None:
        names = ", ".join(str(one.ref) for one in gone) or "nothing, for it was removed before"
        click.echo(f"Removed from listings: {names}.")

    invocation.answer(gone, show_gone)


def _extent(one: SetVersion) -> str:
    files = "1 file" if one.file_count == 1 else f"{one.file_count:,} files"
    return f"{files}, {format_size(one.size)}"


set = group(
    "set", "Make, list, show, compare and remove sets.", create, ls, show, set_get, diff, rm
)
