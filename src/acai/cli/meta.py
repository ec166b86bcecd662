"""`acai meta`: what is said of files, sets and jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from acai.cli import output
from acai.cli.command import Invocation, command, group
from acai.model.described import EntityMetadata
from acai.model.errors import InvalidInput
from acai.model.metadata import parse_assignment


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return output.local_time(value) or ""
    return str(value)


def _show(found: EntityMetadata) -> None:
    rows = [(key, shown(value)) for key, value in found.built_in.items()]
    rows += [(key, shown(value)) for key, value in found.meta.items()]
    if found.tags:
        rows.append(("tags", ", ".join(found.tags)))
    output.print_fields(rows)


@command("set", example="acai meta set set:mnist model=BERT precision=0.71 --tag baseline")
@click.argument("entity")
@click.argument("assignments", nargs=-1, metavar="KEY=VALUE...")
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
def set_(
    invocation: Invocation, entity: str, assignments: tuple[str, ...], tags: tuple[str, ...]
) -> None:
    """Give ENTITY (file:REF, set:REF or job:ID) keys with values, and tags.

    Numbers, true, false and ISO 8601 times are taken as such; quote a value, as in
    k='"5"', to keep it a text.
    """
    for word in assignments:
        if "=" not in word:
            raise InvalidInput(f"{word!r} is no KEY=VALUE; a tag is given by --tag {word}")
    values = dict(parse_assignment(word) for word in assignments)
    if not values and not tags:
        raise click.UsageError("give at least one KEY=VALUE, or --tag")
    found = invocation.client.set_metadata(entity, values, tags)
    invocation.answer(found, lambda: _show(found))


@command("get", example="acai meta get set:mnist:2\nacai meta get file:/data/train.json --json")
@click.argument("entity")
def get(invocation: Invocation, entity: str) -> None:
    """Show all that is known of ENTITY."""
    found = invocation.client.metadata(entity)
    invocation.answer(found, lambda: _show(found))


@command("rm", example="acai meta rm set:mnist precision --tag baseline")
@click.argument("entity")
@click.argument("keys", nargs=-1)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
def rm(invocation: Invocation, entity: str, keys: tuple[str, ...], tags: tuple[str, ...]) -> None:
    """Take KEYS and tags from ENTITY."""
    if not keys and not tags:
        raise click.UsageError("name at least one key, or --tag")
    found = invocation.client.remove_metadata(entity, keys, tags)
    invocation.answer(found, lambda: _show(found))


meta = group("meta", "Say things of files, sets and jobs.", set_, get, rm)
