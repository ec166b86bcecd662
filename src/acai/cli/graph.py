"""`acai graph`: the whole graph of sets, for people and for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import click

from acai.cli import output
from acai.cli.command import Invocation, command
from acai.model.provenance import Action, Edge, GraphNode
from acai.model.quantities import format_size
from acai.model.references import parse_entity
from acai.model.sets import SetVersion
from acai.version import __version__

PRODUCER = f"urn:acai:{__version__}"
_SPEC = "https://openlineage.io/spec"
_RUN_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"


@command("graph", example="acai graph\nacai graph --format dot | dot -Tsvg > sets.svg")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "dot", "mermaid", "openlineage"]),
    default="text",
    help="Text, JSON, Graphviz, Mermaid, or an array of OpenLineage run events.",
)
def graph(invocation: Invocation, form: str) -> None:
    """Print every set version and what it was made of."""
    if invocation.json and form in ("dot", "mermaid"):
        raise click.UsageError(f"--json and --format {form} are two formats; give one of them")
    nodes = list(invocation.client.graph())
    if form == "openlineage":
        namespace = _namespace(invocation)
        output.print_json([run_event(node, namespace) for node in nodes])
    elif invocation.json or form == "json":
        edges = [edge for node in nodes for edge in node.sources]
        output.print_json({"nodes": [node.set for node in nodes], "edges": edges})
    elif form == "text":
        _print_text(nodes)
    else:
        lines: Callable[[Iterable[GraphNode]], Iterator[str]] = dot if form == "dot" else mermaid
        for line in lines(nodes):
            click.echo(line)


def _print_text(nodes: Sequence[GraphNode]) -> None:
    rows = [
        (
            f"{node.set.ref}{'  (removed)' if node.set.removed else ''}",
            f"{node.set.file_count:,}",
            format_size(node.set.size),
            output.local_time(node.set.create_time),
            ", ".join(f"{_ref(edge.source)}{_by(edge)}" for edge in node.sources) or "files",
        )
        for node in nodes
    ]
    headers = ("set", "files", "size", "created", "made of")
    output.print_table(headers, rows, right=("files", "size"))


def dot(nodes: Iterable[GraphNode]) -> Iterator[str]:
    """Graphviz. Names of sets hold nothing that needs escaping."""
    yield "digraph sets {"
    yield "  rankdir=LR;"
    yield "  node [shape=box];"
    for node in nodes:
        style = ", style=dashed" if node.set.removed else ""
        yield f'  "{node.set.ref}" [label="{node.set.ref}\\n{_extent(node.set)}"{style}];'
        for edge in node.sources:
            arrow = f'"{_ref(edge.source)}" -> "{node.set.ref}"'
            yield f'  {arrow} [label="{edge.job or edge.action}"];'
    yield "}"


def mermaid(nodes: Iterable[GraphNode]) -> Iterator[str]:
    """A Mermaid flowchart. Its ids are plain words, so sets are numbered."""
    number: dict[str, int] = {}
    yield "flowchart LR"
    for node in nodes:
        own = number.setdefault(node.set.id, len(number))
        yield f'  s{own}["{node.set.ref}<br/>{_extent(node.set)}"]'
        for edge in node.sources:
            yield f"  s{number[edge.source]} -->|{edge.job or edge.action}| s{own}"


def run_event(node: GraphNode, namespace: str) -> dict[str, Any]:
    """The making of a set version, as OpenLineage tells of it.

    The run's id follows from the set version, so that exporting again tells of the same run.
    """
    one = node.set
    job = next((edge.job for edge in node.sources if edge.action is Action.JOB), None)
    made = _dataset(str(one.ref), namespace)
    made["outputFacets"] = {
        "outputStatistics": {
            **_facet("1-0-2/OutputStatisticsOutputDatasetFacet"),
            "fileCount": one.file_count,
            "size": one.size,
        }
    }
    return {
        "eventType": "COMPLETE",
        "eventTime": output.to_json(one.create_time),
        "run": {"runId": str(uuid5(NAMESPACE_URL, f"{namespace}/{one.id}"))},
        "job": {"namespace": namespace, "name": job or f"create {one.name}"},
        "inputs": [_dataset(_ref(edge.source), namespace) for edge in node.sources],
        "outputs": [made],
        "producer": PRODUCER,
        "schemaURL": _RUN_EVENT,
    }


def _dataset(ref: str, namespace: str) -> dict[str, Any]:
    name, _, version = ref.partition(":")
    facet = {**_facet("1-0-1/DatasetVersionDatasetFacet"), "datasetVersion": version}
    return {"namespace": namespace, "name": name, "facets": {"version": facet}}


def _facet(path: str) -> dict[str, str]:
    name = path.partition("/")[2]
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{path}.json#/$defs/{name}"}


def _namespace(invocation: Invocation) -> str:
    """Where these sets live: the server and the project."""
    client = invocation.client
    project = invocation.project or client.whoami().project
    return f"acai://{urlsplit(client.server).netloc}/{project}"


def _extent(one: SetVersion) -> str:
    return f"{one.file_count:,} files, {format_size(one.size)}"


def _ref(entity: str) -> str:
    return str(parse_entity(entity))


def _by(edge: Edge) -> str:
    return "" if edge.job is None else f" by {edge.job}"
