"""Sets: what specs mean, and that a set is there with all of it or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acai.lake import sets
from acai.model.errors import (
    FileNotFound,
    InvalidInput,
    InvalidReference,
    PathConflict,
    SetNotFound,
    VersionNotFound,
)
from acai.model.references import SetRef
from acai.model.sets import ChangeKind, Prefer
from acai.stores.records import chunks as chunk_records
from acai.stores.records import sets as set_records
from acai.stores.records.chunks import BuildChunks
from acai.stores.records.database import Database, Transaction
from servers import set_lake
from servers.embedded import Embedded
from servers.set_lake import SetLake

shared_database = set_lake.shared_database


@pytest.fixture
def lake(shared_database: Database, tmp_path: Path) -> SetLake:
    return SetLake(shared_database, tmp_path / "objects")


def test_a_directory_is_its_latest_versions(lake: SetLake) -> None:
    lake.put("/data/a", "/data/b", "/other")
    lake.put("/data/b")
    made = lake.make("A", "/data/")
    assert (made.name, made.version, made.id) == ("A", 1, "set:A:1")
    assert (made.file_count, made.size, made.creator) == (2, 14, "ann")
    assert len(made.hash) == 40
    assert lake.held("A") == {"/data/a": 1, "/data/b": 2}


def test_update_merge_and_subset(lake: SetLake) -> None:
    lake.put("/data/a", "/data/b", "/validation/v")
    lake.make("HotpotQA", "/")
    lake.put("/data/a", "/data/c")
    lake.make("ColdpotQA", "/data/c")
    lake.make("MergedQA", "/@HotpotQA", "@ColdpotQA")
    assert lake.held("MergedQA") == {"/data/a": 1, "/data/b": 1, "/data/c": 1, "/validation/v": 1}
    lake.make("HotpotQA", "/@HotpotQA", "/data/a")
    assert lake.held("HotpotQA:2") == {"/data/a": 2, "/data/b": 1, "/validation/v": 1}
    assert lake.held("HotpotQA:1")["/data/a"] == 1
    lake.make("HotpotQAVal", "/validation/@HotpotQA")
    assert lake.held("HotpotQAVal") == {"/validation/v": 1}
    lake.make("Old", "/data/a@HotpotQA:1", "/data/b:1")
    assert lake.held("Old") == {"/data/a": 1, "/data/b": 1}


def test_a_hidden_file_is_taken_by_its_version_only(lake: SetLake) -> None:
    lake.put("/data/a", "/data/b")
    lake.files.hide(lake.ann, "/data/a")
    assert lake.make("A", "/data/", "/data/a:1").file_count == 2
    with pytest.raises(FileNotFound, match="was removed"):
        lake.make("A", "/data/a")
    lake.make("B", "/data/")
    assert lake.held("B") == {"/data/b": 1}


@pytest.fixture
def rivals(lake: SetLake) -> SetLake:
    """Sets One and Two that disagree on /x, of which the lake has a third version."""
    lake.put("/x", "/one")
    lake.make("One", "/x", "/one")
    lake.put("/x", "/two")
    lake.make("Two", "/x", "/two")
    lake.put("/x")
    return lake


def test_sets_that_disagree_are_an_error(rivals: SetLake) -> None:
    with pytest.raises(PathConflict) as caught:
        rivals.make("Both", "/@One", "/@Two")
    assert "/x is version 1 in One:1 but version 2 in Two:1" in caught.value.message
    assert caught.value.detail == {"path": "/x", "versions": [1, 2], "sources": ["One:1", "Two:1"]}
    rivals.make("Both", "/@One", "/@Two", prefer=Prefer.LAST)
    assert rivals.held("Both") == {"/one": 1, "/two": 1, "/x": 2}
    rivals.make("Both", "/@Two", "/@One", prefer=Prefer.LAST)
    assert rivals.held("Both") == {"/one": 1, "/two": 1, "/x": 1}


@pytest.mark.parametrize(
    ("specs", "version"),
    [
        (["/@One", "/x:2"], 2),
        (["/@One", "/x@Two"], 2),
        (["/@One", "/"], 3),
        (["/@One", "/@Two", "/x:1"], 1),
        (["/@One", "/@Two", "/"], 3),
        (["/", "/x:1"], 1),
        (["/x:1", "/@One"], 1),
        (["/x", "/"], 3),
    ],
)
def test_what_replaces(rivals: SetLake, specs: list[str], version: int) -> None:
    rivals.make("S", *specs)
    assert rivals.held("S")["/x"] == version


@pytest.mark.parametrize(
    ("specs", "sources"),
    [
        (["/x:2", "/@One"], ["/x:2", "One:1"]),
        (["/", "/@One"], ["/", "One:1"]),
        (["/x:1", "/"], ["/x:1", "/"]),
        (["/one", "/@One", "/x:2", "/@One"], ["/x:2", "One:1"]),
        (["/x@One", "/x@Two", "/@One"], ["/x@Two:1", "One:1"]),
    ],
)
def test_what_does_not_replace(rivals: SetLake, specs: list[str], sources: list[str]) -> None:
    with pytest.raises(PathConflict) as caught:
        rivals.make("S", *specs)
    assert caught.value.detail["sources"] == sources
    rivals.make("S", *specs, prefer=Prefer.LAST)


def test_a_directory_settles_only_what_it_holds(rivals: SetLake) -> None:
    rivals.files.hide(rivals.ann, "/x")
    with pytest.raises(PathConflict):
        rivals.make("S", "/@One", "/@Two", "/")


def test_a_file_and_a_directory_of_one_name_are_refused(lake: SetLake) -> None:
    lake.put("/a", "/b")
    lake.make("File", "/a")
    lake.files.hide(lake.ann, "/a")
    lake.put("/a/b")
    for specs in (["/@File", "/a/"], ["/a:1", "/a/b"], ["/@File", "/b", "/a/b"]):
        with pytest.raises(PathConflict, match="file and a directory at once") as caught:
            lake.make("S", *specs, prefer=Prefer.LAST)
        assert caught.value.detail == {"path": "/a", "under": "/a/b"}
    with pytest.raises(SetNotFound):
        lake.held("S")


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("/nope", FileNotFound, "there is no file /nope"),
        ("/data/trian.json", FileNotFound, "did you mean /data/train.json?"),
        ("/data/train.json:7", VersionNotFound, "only version 1"),
        ("/nope/", FileNotFound, "no file under /nope/"),
        ("/data", FileNotFound, "/data is a directory; write /data/"),
        ("@HotPotQA", SetNotFound, "did you mean HotpotQA?"),
        ("/@HotpotQA:5", VersionNotFound, "only version 1"),
        ("/nope/@HotpotQA", FileNotFound, "HotpotQA:1 holds nothing under /nope/"),
        ("/data/tra.json@HotpotQA", FileNotFound, "did you mean /data/train.json@HotpotQA:1?"),
        ("data", InvalidReference, "not absolute"),
    ],
)
def test_a_spec_that_names_nothing(
    lake: SetLake, spec: str, error: type[Exception], words: str
) -> None:
    lake.put("/data/train.json")
    lake.make("HotpotQA", "/data/")
    with pytest.raises(error) as caught:
        lake.make("S", "/data/", spec)
    assert words in str(caught.value)
    with pytest.raises(SetNotFound):
        lake.held("S")


def test_no_spec_and_no_name(lake: SetLake) -> None:
    with pytest.raises(InvalidInput, match="would be empty"):
        lake.make("S")
    with pytest.raises(InvalidReference, match="set name"):
        lake.make("a b", "/x")


def test_sets_are_listed_by_name_with_their_latest(lake: SetLake) -> None:
    lake.put("/x")
    for name in ("b", "B", "a", "b"):
        lake.make(name, "/x")
    found = lake.sets.list(lake.ann, after="", limit=10)
    assert [(one.name, one.version) for one in found] == [("B", 1), ("a", 1), ("b", 2)]
    assert [one.name for one in lake.sets.list(lake.ann, after="B", limit=1)] == ["a"]
    versions = lake.sets.versions(lake.ann, "b", before=10, limit=10)
    assert [one.version for one in versions] == [2, 1]
    assert lake.sets.versions(lake.ann, "b", before=1, limit=10) == []


def test_files_of_a_set_come_in_pages_by_prefix(lake: SetLake) -> None:
    lake.put("/data/a", "/data/b", "/data2/c", "/e")
    lake.make("S", "/")
    ref = SetRef(name="S")
    version, found = lake.sets.files(lake.ann, ref, prefix="/data/", after="", limit=1)
    assert version == 1
    assert [(one.path, one.version, one.size) for one in found] == [("/data/a", 1, 7)]
    _, rest = lake.sets.files(lake.ann, ref, prefix="/data", after="/data/a", limit=9)
    assert [one.path for one in rest] == ["/data/b", "/data2/c"]
    totals = lake.sets.totals(lake.ann, ref, "/data/")
    assert (totals.file_count, totals.size) == (2, 14)


def test_difference_of_two_sets(lake: SetLake) -> None:
    lake.put("/gone", "/kept", "/moved")
    lake.make("S", "/")
    lake.put("/moved", "/new")
    lake.make("T", "/kept", "/moved", "/new")
    found = lake.sets.diff(lake.ann, "S", "T:1", beyond="", limit=10)
    assert [(one.path, one.change) for one in found] == [
        ("/gone", ChangeKind.REMOVED),
        ("/moved", ChangeKind.CHANGED),
        ("/new", ChangeKind.ADDED),
    ]
    moved = found[1]
    assert moved.before and moved.after
    assert (moved.before.version, moved.after.version) == (1, 2)
    assert found[0].after is None and found[2].before is None
    paged = lake.sets.diff(lake.ann, "S", "T", beyond="/gone", limit=1)
    assert [one.path for one in paged] == ["/moved"]
    summary = lake.sets.diff_summary(lake.ann, "S", "T")
    assert (summary.added, summary.removed, summary.changed) == (1, 1, 1)
    assert (summary.before.id, summary.after.id) == ("set:S:1", "set:T:1")


def test_removed_versions_are_hidden_and_kept(lake: SetLake) -> None:
    lake.put("/x")
    for _ in range(3):
        lake.make("S", "/x")
    gone = lake.sets.remove(lake.ann, SetRef(name="S", version=3))
    assert [one.id for one in gone] == ["set:S:3"]
    assert lake.sets.find(lake.ann, SetRef(name="S")).version == 2
    kept = lake.sets.find(lake.ann, SetRef(name="S", version=3))
    assert kept.removed
    assert lake.held("S:3") == {"/x": 1}
    assert [one.version for one in lake.sets.versions(lake.ann, "S", before=9, limit=9)] == [2, 1]
    assert [one.version for one in lake.sets.remove(lake.ann, SetRef(name="S"))] == [1, 2]
    assert lake.sets.list(lake.ann, after="", limit=9) == []
    with pytest.raises(SetNotFound, match=r"S was removed; .* such as S:3"):
        lake.make("T", "@S")
    assert lake.sets.remove(lake.ann, SetRef(name="S", version=1)) == []
    assert lake.make("S", "/x").version == 4
    assert lake.make("T", "@S:1").file_count == 1


def test_another_project_has_no_such_set_and_no_hint_of_it(lake: SetLake) -> None:
    lake.put("/x")
    lake.make("Secret", "/x")
    for act in (
        lambda: lake.sets.find(lake.eve, SetRef(name="Secret", version=1)),
        lambda: lake.sets.files(lake.eve, SetRef(name="Secret"), prefix="/", after="", limit=1),
        lambda: lake.sets.versions(lake.eve, "Secret", before=9, limit=9),
        lambda: lake.sets.remove(lake.eve, SetRef(name="Secret")),
        lambda: lake.sets.diff(lake.eve, "Secret", "Secret", beyond="", limit=1),
        lambda: lake.make("Mine", "@Secret", who=lake.eve),
        lambda: lake.specs.resolve(lake.eve, "@Secre", at=0, after="", limit=1),
    ):
        with pytest.raises(SetNotFound) as caught:
            act()
        assert caught.value.detail["near"] == []
    assert lake.sets.list(lake.eve, after="", limit=9) == []
    lake.put("/x", who=lake.eve)
    assert lake.make("Secret", "/x", who=lake.eve).version == 1


@pytest.fixture
def large(lake: SetLake) -> Iterator[tuple[SetLake, int]]:
    """A set of 20,000 files, and one file beside it."""
    lake.put(*(f"/big/{number // 100:03d}/{number:06d}.bin" for number in range(20_000)))
    lake.make("Big", "/big/")
    lake.put("/big/100/new.bin")
    yield lake, lake.chunk_count()


def test_one_change_writes_few_chunks_and_a_copy_none(large: tuple[SetLake, int]) -> None:
    lake, before = large
    made = lake.make("Big", "/@Big", "/big/100/new.bin")
    assert made.file_count == 20_001
    assert lake.chunk_count() - before <= 6
    copied = lake.make("Copy", "/@Big")
    assert copied.hash == made.hash
    assert lake.chunk_count() - before <= 6
    assert lake.sets.diff_summary(lake.ann, "Big:1", "Copy").added == 1


def test_versions_have_no_gap_when_many_create_at_once(lake: SetLake) -> None:
    lake.put(*(f"/{number}" for number in range(8)))
    made: list[int] = []
    errors: list[BaseException] = []

    def act(number: int) -> None:
        try:
            made.append(lake.make("S", f"/{number}").version)
        except BaseException as error:
            errors.append(error)

    _all_at_once(act, 8)
    assert not errors
    assert sorted(made) == list(range(1, 9))


def test_updates_at_once_build_on_each_other(lake: SetLake) -> None:
    lake.put("/base", *(f"/{number}" for number in range(6)))
    lake.make("S", "/base")
    errors: list[BaseException] = []

    def act(number: int) -> None:
        try:
            lake.make("S", "@S", f"/{number}")
        except BaseException as error:
            errors.append(error)

    _all_at_once(act, 6)
    assert not errors
    assert sorted(lake.held("S:7")) == sorted(["/base", *(f"/{number}" for number in range(6))])


def _all_at_once(act: Any, count: int) -> None:
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)


class _Killed(BaseException):
    pass


def test_nothing_is_visible_of_a_build_that_died(
    lake: SetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.put(*(f"/{number:05d}" for number in range(2000)))
    monkeypatch.setattr(sets, "BuildChunks", partial(BuildChunks, hold=0))

    def die(*_args: object) -> None:
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(set_records, "add_version", die)
        with pytest.raises(_Killed):
            lake.make("S", "/")
    assert lake.chunk_count() > 10
    with pytest.raises(SetNotFound):
        lake.sets.find(lake.ann, SetRef(name="S"))
    assert lake.sets.sweep() == 0
    lake.clock.now += timedelta(days=2)
    assert lake.sets.sweep() > 10
    assert lake.chunk_count() == 0
    assert lake.make("S", "/").version == 1
    lake.clock.now += timedelta(days=2)
    assert lake.sets.sweep() == 0
    assert len(lake.held("S")) == 2000


def test_a_build_whose_chunks_were_swept_begins_again(
    lake: SetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the clock is set ahead while a large set is built."""
    lake.put(*(f"/{number:05d}" for number in range(2000)))
    swept: list[int] = []

    class Unlucky(BuildChunks):
        def publish(self, tx: Transaction) -> None:
            if not swept:
                later = lake.clock.now + timedelta(hours=1)
                swept.append(chunk_records.sweep(tx, before=later, limit=10**6))
            super().publish(tx)

    monkeypatch.setattr(sets, "BuildChunks", partial(Unlucky, hold=0))
    assert lake.make("S", "/").file_count == 2000
    assert swept[0] > 0
    assert len(lake.held("S")) == 2000


def test_pages_of_a_set_are_of_one_version(house: Embedded, tmp_path: Path) -> None:
    lake = house.client()
    (tmp_path / "file").write_text("x")
    lake.upload({str(tmp_path / "file"): "/0"})
    for number in range(1, 5):
        lake.copy_file("/0", f"/{number}")
    made = lake.create_file_set("S", ["/"])
    assert made.version == 1
    for route in ("/sets/S/versions/latest/files?limit=2", "/resolve?spec=@S&limit=2"):
        first = house.call("GET", f"/api/v1{route}", token=house.token).json
        lake.create_file_set("S", ["/0"])
        found = first["items"]
        while first["next"]:
            cursor = first["next"]
            first = house.call("GET", f"/api/v1{route}&cursor={cursor}", token=house.token).json
            found += first["items"]
        assert [one["path"] for one in found] == [f"/{number}" for number in range(5)]
        assert set(found[0]) == {"path", "version", "size", "hash"}
        lake.create_file_set("S", ["/@S:1"])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/sets/S/versions/0", 422, "invalid_reference"),
        ("/sets/S/versions/new", 422, "invalid_reference"),
        ("/sets/S/versions/99999999999999999999999", 422, "invalid_reference"),
        ("/sets/a%20b/versions/1", 422, "invalid_reference"),
        ("/sets/S/versions/1", 404, "set_not_found"),
        ("/sets/S/versions/latest/files?cursor=x", 422, "invalid_cursor"),
        ("/sets/S/versions/latest/files?cursor=WzEsMl0", 422, "invalid_cursor"),
        ("/sets/diff?before=S&after=T:", 422, "invalid_reference"),
        ("/sets/S/versions/1/trace?depth=-1", 422, "invalid_input"),
        ("/resolve?spec=/data/:2", 422, "invalid_reference"),
        ("/provenance/holding?file=/data/", 422, "invalid_reference"),
    ],
)
def test_bad_requests(small_house: Embedded, path: str, status: int, code: str) -> None:
    answer = small_house.call("GET", f"/api/v1{path}", token=small_house.token)
    assert (answer.status, answer.code) == (status, code)
