"""What came from what, from Python."""

from __future__ import annotations

from collections.abc import Iterator

from acai.client.base import Part
from acai.client.decode import decode
from acai.client.sets import AnySet, set_ref, version_path
from acai.model.provenance import GraphNode, PathBetween, Trace
from acai.model.references import parse_file_reference
from acai.model.sets import SetVersion


class ProvenancePart(Part):
    def trace(
        self,
        which: AnySet,
        direction: str = "back",
        depth: int | None = None,
        *,
        limit: int = 10_000,
    ) -> Trace:
        """What a set comes from (`"back"`), or what came from it (`"forward"`).

        At most `depth` steps and `limit` sets, the nearest first.
        """
        query = {"direction": direction, "depth": depth, "limit": limit}
        found = self._session.call("GET", f"{version_path(which)}/trace", query=query)
        return decode(Trace, found)

    def graph(self) -> Iterator[GraphNode]:
        """Every set version with the edges that lead to it; sources come before their targets."""
        return self._pages(GraphNode, "/provenance")

    def sets_holding(self, file: str) -> Iterator[SetVersion]:
        """The set versions that hold a file version, newest first, removed ones too."""
        query = {"file": str(parse_file_reference(file))}
        return self._pages(SetVersion, "/provenance/holding", query)

    def path_between(self, one: AnySet, other: AnySet) -> PathBetween:
        """Every way from the older of two sets to the newer; empty if there is none."""
        query = {"one": str(set_ref(one)), "other": str(set_ref(other))}
        return decode(PathBetween, self._session.call("GET", "/provenance/path", query=query))
