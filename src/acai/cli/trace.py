"""`acai trace`: what a set comes from, or what came from it, as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click

from acai.cli.command import Invocation, command
from acai.model.provenance import Direction, Edge, Trace
from acai.model.quantities import format_size
from acai.model.sets import SetVersion

_DEEPEST = 40  # levels that are drawn: further in, lines would begin beyond the terminal


@command("trace", example="acai trace mnist-model\nacai trace HotpotQA:1 --forward --depth 2")
@click.argument("set_", metavar="SET")
@click.option("--back", "direction", flag_value="back", default="back", help="What it comes from.")
@click.option("--forward", "direction", flag_value="forward", help="What came from it.")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="At most N steps.")
def trace(invocation: Invocation, set_: str, direction: str, depth: int | None) -> None:
    """Draw what SET comes from, or with --forward what came from it.

    Each set is followed once; where it comes again, it says so.
    """
    found = invocation.client.trace(set_, direction, depth)

    def show() -> None:
        for line in draw(found, datetime.now(UTC)):
            click.echo(line)
        if not found.complete:
            invocation.note(f"There is more than these {len(found.nodes):,} sets; add --depth.")

    invocation.answer(found, show)


def draw(found: Trace, now: datetime) -> Iterator[str]:
    """The lines of the tree."""
    sets = {node.set.id: node.set for node in found.nodes}
    below: dict[str, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        below[edge.target if found.direction is Direction.BACK else edge.source].append(edge)
    start = found.nodes[0].set
    seen = {start.id}
    yield _line(start, None, now)
    stack = [("", iter(_last_marked(below[start.id])))]
    while stack:
        indent, edges = stack[-1]
        following = next(edges, None)
        if following is None:
            stack.pop()
            continue
        edge, last = following
        far = edge.source if found.direction is Direction.BACK else edge.target
        branch = f"{indent}{'└── ' if last else '├── '}"
        if far in seen:
            yield f"{branch}{sets[far].ref}  (see above)"
            continue
        seen.add(far)
        yield branch + _line(sets[far], edge, now)
        if len(stack) < _DEEPEST:
            stack.append((f"{indent}{'    ' if last else '│   '}", _last_marked(below[far])))
        elif below[far]:
            yield f"{indent}    … go on with: acai trace {sets[far].ref}"


def _last_marked(edges: list[Edge]) -> Iterator[tuple[Edge, bool]]:
    return ((edge, number == len(edges)) for number, edge in enumerate(edges, 1))


def _line(one: SetVersion, edge: Edge | None, now: datetime) -> str:
    files = "1 file" if one.file_count == 1 else f"{one.file_count:,} files"
    facts = [files, format_size(one.size), _age(now - one.create_time)]
    if edge is not None:
        facts.insert(0, edge.action.value if edge.job is None else edge.job)
    if one.removed:
        facts.append("removed")
    return f"{one.ref}  {', '.join(facts)}"


def _age(passed: timedelta) -> str:
    seconds = max(0, int(passed.total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
