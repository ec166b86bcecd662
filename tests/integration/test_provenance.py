"""The graph of sets: what it remembers, and how it is walked."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from acai.model.errors import FileNotFound, SetNotFound, VersionNotFound
from acai.model.provenance import Action, Direction, GraphNode, Trace
from acai.model.references import SetRef, parse_set_reference
from acai.stores.records.database import Database
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_lake import edges, set_versions
from servers import set_lake
from servers.embedded import Embedded
from servers.set_lake import SetLake

shared_database = set_lake.shared_database


@pytest.fixture
def lake(shared_database: Database, tmp_path: Path) -> SetLake:
    return SetLake(shared_database, tmp_path / "objects")


@pytest.fixture
def family(lake: SetLake) -> SetLake:
    """A:1 → A:2 → C:1 → D:1, B:1 → C:1, A:1 → D:1, and E:1 alone."""
    lake.put("/a", "/b", "/e")
    lake.make("A", "/a")
    lake.make("B", "/b")
    lake.make("A", "@A", "/e")
    lake.make("C", "@A", "@B")
    lake.make("D", "/a@C", "/a@A:1")
    lake.make("E", "/e")
    return lake


def trace(
    lake: SetLake, ref: str, direction: str = "back", depth: int | None = None, limit: int = 1000
) -> Trace:
    return lake.provenance.trace(
        lake.ann,
        parse_set_reference(ref),
        direction=Direction(direction),
        depth=depth,
        limit=limit,
    )


def shape(found: Trace) -> tuple[dict[str, int], set[tuple[str, str]]]:
    nodes = {str(node.set.ref): node.depth for node in found.nodes}
    arrows = {(e.source.removeprefix("set:"), e.target.removeprefix("set:")) for e in found.edges}
    assert len(nodes) == len(found.nodes)
    return nodes, arrows


def test_every_source_set_is_remembered(family: SetLake) -> None:
    found = trace(family, "C")
    assert shape(found) == (
        {"C:1": 0, "A:2": 1, "B:1": 1, "A:1": 2},
        {("A:2", "C:1"), ("B:1", "C:1"), ("A:1", "A:2")},
    )
    assert found.complete
    assert found.nodes[0].set == family.sets.find(family.ann, SetRef(name="C"))
    assert {(edge.action, edge.job) for edge in found.edges} == {(Action.CREATION, None)}
    assert {edge.create_time for edge in found.edges} == {family.clock.now}


def test_forward_one_step_and_depth(family: SetLake) -> None:
    assert shape(trace(family, "A:1", "forward", 1)) == (
        {"A:1": 0, "A:2": 1, "D:1": 1},
        {("A:1", "A:2"), ("A:1", "D:1")},
    )
    nodes, arrows = shape(trace(family, "A:1", "forward"))
    assert nodes == {"A:1": 0, "A:2": 1, "D:1": 1, "C:1": 2}
    assert ("C:1", "D:1") in arrows
    assert shape(trace(family, "D", "back", 1))[0] == {"D:1": 0, "A:1": 1, "C:1": 1}
    assert shape(trace(family, "D", "back", 2))[0] == {
        "D:1": 0,
        "A:1": 1,
        "C:1": 1,
        "A:2": 2,
        "B:1": 2,
    }
    assert shape(trace(family, "D", "back", 100)) == shape(trace(family, "D"))
    assert shape(trace(family, "E")) == ({"E:1": 0}, set())
    assert shape(trace(family, "E", "forward", 1)) == ({"E:1": 0}, set())


def test_more_than_was_asked_for_is_told(family: SetLake) -> None:
    found = trace(family, "D", limit=3)
    assert not found.complete
    assert shape(found)[0] == {"D:1": 0, "A:1": 1, "C:1": 1}


def test_removed_sets_stay_in_the_graph(family: SetLake) -> None:
    family.sets.remove(family.ann, SetRef(name="A"))
    found = {str(node.set.ref): node.set.removed for node in trace(family, "C").nodes}
    assert found == {"C:1": False, "A:2": True, "B:1": False, "A:1": True}
    assert trace(family, "A:1", "forward", 1).nodes[0].set.removed


def test_the_whole_graph_in_pages(family: SetLake) -> None:
    whole = family.provenance.graph(family.ann, after=0, limit=100)
    assert [str(node.set.ref) for _, node in whole] == ["A:1", "B:1", "A:2", "C:1", "D:1", "E:1"]
    sources = {str(n.set.ref): [edge.source for edge in n.sources] for _, n in whole}
    assert sources["C:1"] == ["set:B:1", "set:A:2"]
    assert sources["D:1"] == ["set:A:1", "set:C:1"]
    assert sources["E:1"] == []
    paged: list[tuple[int, GraphNode]] = []
    after = 0
    while page := family.provenance.graph(family.ann, after=after, limit=2):
        paged += page
        after = page[-1][0]
    assert paged == list(whole)


def test_ways_between_two_sets(family: SetLake) -> None:
    for pair in (("A:1", "D"), ("D", "A:1")):
        found = family.provenance.between(family.ann, *pair)
        assert found.shortest == ("set:A:1", "set:D:1")
        assert [str(one.ref) for one in found.nodes] == ["A:1", "A:2", "C:1", "D:1"]
        assert len(found.edges) == 4
    assert family.provenance.between(family.ann, "B", "D").shortest == (
        "set:B:1",
        "set:C:1",
        "set:D:1",
    )
    none = family.provenance.between(family.ann, "B", "E")
    assert (none.shortest, none.nodes, none.edges) == ((), (), ())
    itself = family.provenance.between(family.ann, "C", "C")
    assert (itself.shortest, len(itself.nodes)) == (("set:C:1",), 1)


def test_which_sets_hold_a_file_version(family: SetLake) -> None:
    def holding(file: str, before: int = 2**60, limit: int = 100) -> list[str]:
        found = family.provenance.holding(family.ann, file, before=before, limit=limit)
        return [str(one.ref) for _, one in found]

    assert holding("/a") == ["D:1", "C:1", "A:2", "A:1"]
    assert holding("/a@C") == holding("/a:1") == holding("/a")
    family.put("/a")
    assert holding("/a") == []
    family.make("New", "/")
    assert holding("/a:2") == ["New:1"]
    family.sets.remove(family.ann, SetRef(name="D"))
    first = family.provenance.holding(family.ann, "/a:1", before=2**60, limit=2)
    assert [(str(one.ref), one.removed) for _, one in first] == [("D:1", True), ("C:1", False)]
    assert holding("/a:1", before=first[-1][0]) == ["A:2", "A:1"]
    with pytest.raises(VersionNotFound):
        holding("/a:9")
    with pytest.raises(FileNotFound, match="C:1 does not hold /e2"):
        holding("/e2@C")


def test_a_clock_set_back_hides_no_set(lake: SetLake) -> None:
    lake.put("/x")
    lake.clock.now -= timedelta(days=400)
    lake.make("Early", "/x")
    found = lake.provenance.holding(lake.ann, "/x", before=2**60, limit=9)
    assert [one.name for _, one in found] == ["Early"]


def test_many_large_sets_are_searched_without_a_query_for_each(lake: SetLake) -> None:
    lake.put(*(f"/{number:04d}" for number in range(3000)))
    lake.make("S", "/")
    lake.put("/1500")
    for _ in range(20):
        lake.make("S", "@S", "/1500")
    found = lake.provenance.holding(lake.ann, "/1500:1", before=2**60, limit=99)
    assert [str(one.ref) for _, one in found] == ["S:1"]
    assert len(lake.provenance.holding(lake.ann, "/2999", before=2**60, limit=99)) == 21


def test_another_project_sees_nothing_of_it(family: SetLake) -> None:
    assert family.provenance.graph(family.eve, after=0, limit=9) == []
    back = Direction.BACK
    with pytest.raises(SetNotFound) as caught:
        family.provenance.trace(family.eve, SetRef(name="C", version=1), direction=back, depth=None)
    assert caught.value.detail["near"] == []
    with pytest.raises(SetNotFound):
        family.provenance.between(family.eve, "A", "C")
    with pytest.raises(FileNotFound):
        family.provenance.holding(family.eve, "/a", before=9, limit=9)


def test_a_cycle_cannot_be_written(family: SetLake) -> None:
    with family.database.read(family.ann.project) as tx:
        ids = sorted(tx.execute(select(set_versions.c.id).where(mine(set_versions))).scalars())
    for source, target in ((ids[1], ids[0]), (ids[0], ids[0])):
        with pytest.raises(IntegrityError), family.database.write(family.ann.project) as tx:
            tx.execute(
                insert(edges).values(
                    project_id=this_project(),
                    source_id=source,
                    target_id=target,
                    action="creation",
                    created_at=family.clock.now,
                )
            )


def test_random_graphs_are_walked_as_in_memory(lake: SetLake) -> None:
    rng = random.Random(7)
    lake.put("/x")
    lake.make("S", "/x")
    parents: dict[int, set[int]] = {1: set()}
    for number in range(2, 41):
        chosen = {rng.randrange(1, number) for _ in range(rng.randrange(1, 3))}
        lake.make("S", *(f"@S:{one}" for one in sorted(chosen)))
        parents[number] = chosen
    children = {
        number: {child for child, own in parents.items() if number in own} for number in parents
    }
    for start in (1, 7, 20, 33, 40):
        for direction, following in (("back", parents), ("forward", children)):
            for depth in (None, 0, 1, 2, 5, 17, 30):
                expected = _reached(start, following, depth)
                found, arrows = shape(trace(lake, f"S:{start}", direction, depth))
                assert found == {f"S:{one}": steps for one, steps in expected.items()}
                walked = {
                    (far, near) if direction == "back" else (near, far)
                    for near, steps in expected.items()
                    for far in following[near]
                    if depth is None or steps < depth
                }
                assert arrows == {(f"S:{source}", f"S:{target}") for source, target in walked}


def _reached(start: int, following: dict[int, set[int]], depth: int | None) -> dict[int, int]:
    steps = {start: 0}
    level = [start]
    while level and (depth is None or steps[level[0]] < depth):
        fresh = {far for one in level for far in following[one]} - steps.keys()
        steps.update(dict.fromkeys(fresh, steps[level[0]] + 1))
        level = sorted(fresh)
    return steps


def test_a_chain_of_thousands_is_one_statement(lake: SetLake) -> None:
    lake.put("/x")
    first = lake.make("Chain", "/x")
    with lake.database.write(lake.ann.project) as tx:
        row = tx.execute(select(set_versions).where(mine(set_versions))).one()._mapping
        copied = {key: row[key] for key in row if key not in ("id", "version", "project_id")}
        tx.insert(set_versions, ({**copied, "version": n} for n in range(2, 3001)))
        ids = sorted(tx.execute(select(set_versions.c.id).where(mine(set_versions))).scalars())
        made = {"action": "creation", "job_id": None, "created_at": lake.clock.now}
        tx.insert(
            edges, ({"source_id": one, "target_id": two, **made} for one, two in pairwise(ids))
        )
    found = trace(lake, "Chain:3000", limit=5000)
    assert (len(found.nodes), found.nodes[-1].depth) == (3000, 2999)
    assert found.nodes[-1].set.id == first.id
    way = lake.provenance.between(lake.ann, "Chain:1", "Chain:3000")
    assert len(way.shortest) == 3000


def test_from_python_and_over_http(small_house: Embedded, tmp_path: Path) -> None:
    lake = small_house.client()
    (tmp_path / "file").write_text("x")
    lake.upload({str(tmp_path / "file"): "/x"})
    one = lake.create_file_set("One", "/x")
    two = lake.create_file_set("Two", ["@One"])
    assert two.hash == one.hash
    assert [str(node.set.ref) for node in lake.trace(two).nodes] == ["Two:1", "One:1"]
    assert [node.set for node in lake.trace("One", "forward", 1).nodes] == [one, two]
    assert [(n.set.id, len(n.sources)) for n in lake.graph()] == [
        ("set:One:1", 0),
        ("set:Two:1", 1),
    ]
    assert [found.id for found in lake.sets_holding("/x")] == ["set:Two:1", "set:One:1"]
    assert lake.path_between("One", two).shortest == ("set:One:1", "set:Two:1")
    assert list(lake.diff_sets(one, two)) == []
    assert lake.diff_summary("One", "Two").changed == 0
    assert lake.set_totals("One").file_count == 1
    assert [file.path for file in lake.set_files("One", "/x")] == ["/x"]
    assert [found.ref for found in lake.list_sets()] == [one.ref, two.ref]
    assert lake.remove_set("One:1")[0].removed
    assert lake.get_set("One:1").removed
