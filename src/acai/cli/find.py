"""`acai find`: search files, sets and jobs by one query language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group
from acai.cli.meta import shown
from acai.model.errors import InvalidQuery
from acai.model.metadata import EntityKind
from acai.model.quantities import format_size

if TYPE_CHECKING:
    from acai.client.client import Client

_LIMIT = click.option("--limit", type=click.IntRange(min=1), help="Show at most so many.")


def _mentioned(query: str, found: Sequence[Any]) -> list[str]:
    """The users' keys that the query speaks of, and that some result has."""
    words = re.findall(r"[A-Za-z_][A-Za-z0-9_.-]*", query)
    return [word for word in dict.fromkeys(words) if any(word in one.meta for one in found)]


def _table(query: str, found: Sequence[Any], fixed: Sequence[tuple[str, Any]]) -> None:
    keys = _mentioned(query, found)
    tagged = any(one.tags for one in found)
    headers = [name for name, _ in fixed] + keys + (["tags"] if tagged else [])
    rows = [
        [
            *(read(one) for _, read in fixed),
            *(shown(one.meta[key]) if key in one.meta else None for key in keys),
            *([", ".join(one.tags)] if tagged else []),
        ]
        for one in found
    ]
    output.print_table(headers, rows, right=("size", "files"))


def _unknown(client: Client, kind: EntityKind, query: str) -> Iterator[str]:
    """What to say of keys in a query that nothing has: most likely slips."""
    from acai.model.query import parse_query
    from acai.model.query.ast import Key, subjects

    named: dict[str, list[str]] = {}
    for subject in subjects(parse_query(query, kind)):
        if isinstance(subject, Key):
            prefix = f"{subject.relation}." if subject.relation else ""
            named.setdefault(prefix, []).append(subject.name)
    for prefix, names in named.items():
        known = [one.key.removeprefix(prefix) for one in client.metadata_keys(kind, prefix)]
        for name in dict.fromkeys(names):
            if name not in known:
                near = [
                    f"; did you mean {prefix}{one}?" for one in get_close_matches(name, known, 1)
                ]
                yield "".join([f"no {kind} has the key {prefix}{name}", *near])


def _run(
    invocation: Invocation, kind: EntityKind, query: str, search: Any, limit: int | None, fixed: Any
) -> None:
    try:
        found = search(query, limit=limit)
    except InvalidQuery as error:
        if not invocation.json and "position" in error.detail and query.isprintable():
            invocation.note(f"  {query}\n  {' ' * int(error.detail['position'])}^")
        raise
    if not found:
        invocation.answer([], lambda: invocation.note("nothing matches"))
        if not (invocation.json or invocation.quiet):
            for line in _unknown(invocation.client, kind, query):
                invocation.note(line)
        return
    invocation.answer(found, lambda: _table(query, found, fixed))


@command("files", example="acai find files 'name ~ \"[.]csv$\" and size > 1MB'")
@click.argument("query", default="")
@_LIMIT
def files(invocation: Invocation, query: str, limit: int | None) -> None:
    """Versions of files that QUERY selects."""
    fixed = (
        ("path", lambda one: one.path),
        ("version", lambda one: one.version),
        ("size", lambda one: format_size(one.size)),
        ("creator", lambda one: one.creator),
        ("created", lambda one: output.local_time(one.create_time)),
    )
    _run(invocation, EntityKind.FILE, query, invocation.client.find_files, limit, fixed)


@command("sets", example="acai find sets 'model = BERT and precision > 0.5 max precision'")
@click.argument("query", default="")
@_LIMIT
def sets(invocation: Invocation, query: str, limit: int | None) -> None:
    """Versions of sets that QUERY selects."""
    fixed = (
        ("set", lambda one: f"{one.name}:{one.version}"),
        ("files", lambda one: one.file_count),
        ("size", lambda one: format_size(one.size)),
        ("creator", lambda one: one.creator),
        ("created", lambda one: output.local_time(one.create_time)),
    )
    _run(invocation, EntityKind.SET, query, invocation.client.find_sets, limit, fixed)


@command("jobs", example="acai find jobs 'status = failed and create_time >= today'")
@click.argument("query", default="")
@_LIMIT
def jobs(invocation: Invocation, query: str, limit: int | None) -> None:
    """Jobs that QUERY selects."""
    fixed = (
        ("job", lambda one: one.id),
        ("name", lambda one: one.name),
        ("status", lambda one: one.status),
        ("creator", lambda one: one.creator),
        ("submitted", lambda one: output.local_time(one.submit_time)),
    )
    _run(invocation, EntityKind.JOB, query, invocation.client.find_jobs, limit, fixed)


find = group("find", "Search by one query language: acai find sets 'QUERY'.", files, sets, jobs)
