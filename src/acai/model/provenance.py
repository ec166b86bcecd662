"""What came from what: set versions, and the actions that made one of another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from acai.model.sets import SetVersion


class Action(StrEnum):
    CREATION = "creation"  # a set was made from another's files
    JOB = "job"  # a job read one set and wrote the other


class Direction(StrEnum):
    BACK = "back"  # towards what a set was made of
    FORWARD = "forward"  # towards what was made of it


@dataclass(frozen=True, kw_only=True)
class Edge:
    """From a set version to one that was made of it; both as their `id`, `set:NAME:VERSION`."""

    source: str
    target: str
    action: Action
    job: str | None
    create_time: datetime


@dataclass(frozen=True, kw_only=True)
class TracedSet:
    set: SetVersion
    depth: int  # steps from where the trace starts, by the shortest way


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Ancestry or descent of a set. The nearest come first; the first is the set itself.

    The edges are those that were walked: with a depth, none between the furthest sets.
    """

    direction: Direction
    nodes: tuple[TracedSet, ...]
    edges: tuple[Edge, ...]
    complete: bool  # false if there was more than was asked for


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """A set version with the edges that lead to it. Sources come before what is made of them."""

    set: SetVersion
    sources: tuple[Edge, ...]


@dataclass(frozen=True, kw_only=True)
class PathBetween:
    """How one set leads to another: empty if it does not.

    `shortest` are ids from the older to the newer; `nodes` and `edges` are those of every way,
    in an order in which sources come first.
    """

    shortest: tuple[str, ...]
    nodes: tuple[SetVersion, ...]
    edges: tuple[Edge, ...]
