"""Upload sessions: a batch is a transaction, whatever is sent, repeated, forgotten or forged."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from acai.identity.service import Identity
from acai.lake.files import Files
from acai.lake.sweeper import Sweeper
from acai.lake.uploads import UploadRules, Uploads
from acai.model.errors import (
    FileNotFound,
    Forbidden,
    InvalidInput,
    InvalidPath,
    PathConflict,
    UploadClosed,
    UploadIncomplete,
    UploadNotFound,
    VersionNotFound,
)
from acai.model.files import BlobSpan, EntryKind, NewFile, NewObject, Upload, UploadState
from acai.model.identity import Principal, Role
from acai.model.ids import Sha256
from acai.stores.objects.base import MIB
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records.database import Database

HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Lake:
    """A lake with two users in one project and a stranger in another."""

    def __init__(self, database: Database, root: Path) -> None:
        self.clock = Clock()
        self.steady = 0.0
        self.store = LocalPartsStore(root, sign_secret=b"secret", durable=False)
        identity = Identity(database, failure_limit=100)
        project = identity.create_project("ours", "ann")
        other = identity.create_project("theirs", "eve")
        self.ann = identity.authenticate(project.admin.token, "here", None)
        self.eve = identity.authenticate(other.admin.token, "here", None)
        bob = identity.create_user(self.ann, "bob", Role.MEMBER)
        self.bob = identity.authenticate(bob.token, "here", None)
        rules = UploadRules(lifetime=timedelta(days=7), url_lifetime=HOUR, multipart_above=40 * MIB)
        self.uploads = Uploads(database, self.store, rules, self.clock)
        self.files = Files(database, self.store, HOUR)
        self.sweeper = Sweeper(
            database,
            self.store,
            lifetime=timedelta(days=7),
            url_lifetime=HOUR,
            clock=self.clock,
            monotonic=lambda: self.steady,
        )

    def announce(self, upload: Upload, contents: dict[str, bytes], who: Principal) -> list[Sha256]:
        files = [
            NewFile(path=path, size=len(data), sha256=digest(data))
            for path, data in contents.items()
        ]
        return list(self.uploads.add_files(who, upload.id, files))

    def send(self, upload: Upload, blobs: list[bytes], who: Principal) -> int:
        """Send these blobs as one pack; returns the object's id."""
        spans, start = [], 0
        for blob in blobs:
            spans.append(BlobSpan(sha256=digest(blob), size=len(blob), start=start))
            start += len(blob)
        pack = b"".join(blobs)
        new = NewObject(size=len(pack), sha256=digest(pack), blobs=tuple(spans))
        slot = self.uploads.add_objects(who, upload.id, [new])[0]
        self.store.put(slot.key, pack)
        self.uploads.complete_objects(who, upload.id, {slot.id: []})
        return slot.id

    def put(self, contents: dict[str, bytes], who: Principal | None = None) -> Upload:
        caller = who or self.ann
        upload = self.uploads.open(caller, None)
        missing = set(self.announce(upload, contents, caller))
        blobs = {digest(data): data for data in contents.values()}
        if missing:
            self.send(upload, [blobs[one] for one in sorted(missing)], caller)
        return self.uploads.commit(caller, upload.id, len(contents))

    def read(self, path: str, version: int | None = None) -> bytes:
        found = self.files.find(self.ann, path, version)
        places = self.files.places(self.ann, [found.hash])
        keys = {one.id: one.key for one in places.objects}
        place = places.blobs[0]
        return b"".join(self.store.get(keys[place.object], offset=place.start, length=place.size))

    def advance(self, step: timedelta) -> None:
        self.clock.now += step
        self.steady += step.total_seconds()

    def keys(self) -> list[str]:
        return [info.key for info in self.store.list()]


def digest(data: bytes) -> Sha256:
    return Sha256(hashlib.sha256(data).hexdigest())


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[Lake]:
    yield Lake(database, tmp_path / "objects")


def test_files_of_a_session_appear_together(lake: Lake) -> None:
    upload = lake.uploads.open(lake.ann, None)
    contents = {"/data/a.txt": b"alpha", "/data/b.txt": b"beta", "/c.txt": b"alpha"}
    missing = lake.announce(upload, contents, lake.ann)
    assert sorted(missing) == sorted({digest(b"alpha"), digest(b"beta")})
    lake.send(upload, [b"alpha", b"beta"], lake.ann)
    assert lake.files.listing(lake.ann, "/", after="", limit=10) == []
    done = lake.uploads.commit(lake.ann, upload.id, 3)
    assert (done.state, done.file_count, done.size) == (UploadState.COMMITTED, 3, 14)
    lines = lake.files.listing(lake.ann, "/", after="", limit=10)
    assert [(line.kind, line.path) for line in lines] == [
        (EntryKind.FILE, "/c.txt"),
        (EntryKind.DIRECTORY, "/data/"),
    ]
    assert lake.read("/data/a.txt") == b"alpha"
    assert lake.read("/data/b.txt") == b"beta"


def test_versions_count_up_without_gaps_whatever_fails(lake: Lake) -> None:
    lake.put({"/x": b"1"})
    doomed = lake.uploads.open(lake.ann, None)
    lake.announce(doomed, {"/x": b"never"}, lake.ann)
    with pytest.raises(UploadIncomplete, match="/x"):
        lake.uploads.commit(lake.ann, doomed.id, 1)
    lake.uploads.abort(lake.ann, doomed.id)
    lake.put({"/x": b"2"}, lake.bob)
    versions = lake.files.versions(lake.ann, "/x", before=100, limit=10)
    assert [(v.version, v.creator) for v in versions] == [(2, "bob"), (1, "ann")]
    assert lake.read("/x") == b"2"
    assert lake.read("/x", 1) == b"1"


def test_known_content_is_not_asked_for_again(lake: Lake) -> None:
    lake.put({"/a": b"same"})
    upload = lake.uploads.open(lake.bob, None)
    assert lake.announce(upload, {"/b": b"same"}, lake.bob) == []
    lake.uploads.commit(lake.bob, upload.id, 1)
    assert lake.read("/b") == b"same"
    stranger = lake.uploads.open(lake.eve, None)
    assert lake.announce(stranger, {"/b": b"same"}, lake.eve) == [digest(b"same")]


def test_a_second_commit_changes_nothing(lake: Lake) -> None:
    first = lake.put({"/a": b"1"})
    again = lake.uploads.commit(lake.ann, first.id, 1)
    assert again.state is UploadState.COMMITTED
    assert lake.files.find(lake.ann, "/a", None).version == 1
    with pytest.raises(UploadClosed, match="committed"):
        lake.announce(first, {"/b": b"2"}, lake.ann)
    with pytest.raises(UploadClosed):
        lake.uploads.abort(lake.ann, first.id)


def test_a_lost_batch_is_noticed(lake: Lake) -> None:
    upload = lake.uploads.open(lake.ann, None)
    lake.announce(upload, {"/a": b"1"}, lake.ann)
    lake.send(upload, [b"1"], lake.ann)
    with pytest.raises(UploadIncomplete, match="holds 1 files, but 2"):
        lake.uploads.commit(lake.ann, upload.id, 2)
    with pytest.raises(InvalidInput, match="holds no file"):
        lake.uploads.commit(lake.ann, lake.uploads.open(lake.ann, None).id, 0)


def test_a_session_is_its_owners(lake: Lake) -> None:
    upload = lake.uploads.open(lake.bob, None)
    with pytest.raises(Forbidden, match="belongs to bob"):
        lake.announce(upload, {"/a": b"1"}, lake.ann)
    with pytest.raises(UploadNotFound):
        lake.announce(upload, {"/a": b"1"}, lake.eve)
    with pytest.raises(UploadNotFound):
        lake.uploads.abort(lake.eve, upload.id)
    assert lake.uploads.abort(lake.ann, upload.id).state is UploadState.ABORTED  # as admin


def test_an_object_that_is_not_what_was_announced(lake: Lake) -> None:
    upload = lake.uploads.open(lake.ann, None)
    lake.announce(upload, {"/a": b"right"}, lake.ann)
    span = BlobSpan(sha256=digest(b"right"), size=5, start=0)
    new = NewObject(size=5, sha256=digest(b"right"), blobs=(span,))
    slot = lake.uploads.add_objects(lake.ann, upload.id, [new])[0]
    with pytest.raises(UploadIncomplete, match="never arrived"):
        lake.uploads.complete_objects(lake.ann, upload.id, {slot.id: []})
    lake.store.put(slot.key, b"too long")
    with pytest.raises(UploadIncomplete, match="8 bytes instead of 5"):
        lake.uploads.complete_objects(lake.ann, upload.id, {slot.id: []})
    with pytest.raises(UploadIncomplete, match="/a"):
        lake.uploads.commit(lake.ann, upload.id, 1)
    with pytest.raises(FileNotFound):
        lake.files.find(lake.ann, "/a", None)


@pytest.mark.parametrize(
    ("path", "sha256", "size", "error"),
    [
        ("relative", "0" * 64, 1, InvalidPath),
        ("/a/../b", "0" * 64, 1, InvalidPath),
        ("/a\x00b", "0" * 64, 1, InvalidPath),
        ("/a", "0" * 63, 1, InvalidInput),
        ("/a", "Z" * 64, 1, InvalidInput),
        ("/a", "0" * 64, -1, InvalidInput),
    ],
)
def test_bad_announcements_are_refused(
    lake: Lake, path: str, sha256: str, size: int, error: type[Exception]
) -> None:
    upload = lake.uploads.open(lake.ann, None)
    good = NewFile(path="/good", size=1, sha256=digest(b"1"))
    bad = NewFile(path=path, size=size, sha256=Sha256(sha256))
    with pytest.raises(error):
        lake.uploads.add_files(lake.ann, upload.id, [good, bad])
    with pytest.raises(InvalidInput, match="holds no file"):
        lake.uploads.commit(lake.ann, upload.id, 1)


@pytest.mark.parametrize(
    ("size", "spans"),
    [
        (3, [(b"ab", 0)]),  # bytes that belong to no blob
        (4, [(b"ab", 0), (b"cd", 1)]),  # overlapping
        (4, [(b"ab", 1), (b"cd", 3)]),  # not from the beginning
        (0, []),
    ],
)
def test_blobs_lie_side_by_side(lake: Lake, size: int, spans: list[tuple[bytes, int]]) -> None:
    upload = lake.uploads.open(lake.ann, None)
    blobs = tuple(
        BlobSpan(sha256=digest(data), size=len(data), start=start) for data, start in spans
    )
    with pytest.raises(InvalidInput):
        lake.uploads.add_objects(
            lake.ann, upload.id, [NewObject(size=size, sha256=digest(b"abcd"), blobs=blobs)]
        )


def test_a_path_is_a_file_or_a_directory(lake: Lake) -> None:
    lake.put({"/a/b": b"1"})
    with pytest.raises(PathConflict, match="/a would be"):
        lake.put({"/a": b"2"})
    with pytest.raises(PathConflict, match="/a/b would be"):
        lake.put({"/a/b/c": b"3"})
    with pytest.raises(PathConflict):
        lake.put({"/n": b"4", "/n/m": b"5"})
    assert [one.path for one in lake.files.under(lake.ann, "/", after="", limit=9)] == ["/a/b"]
    lake.files.hide(lake.ann, "/a/b")
    lake.put({"/a": b"2"})
    assert lake.read("/a") == b"2"


def test_hiding_keeps_every_version(lake: Lake) -> None:
    lake.put({"/d/x": b"1", "/d/y": b"2", "/e": b"3"})
    assert lake.files.hide(lake.ann, "/d/") == 2
    assert [line.path for line in lake.files.listing(lake.ann, "/", after="", limit=9)] == ["/e"]
    with pytest.raises(FileNotFound, match="/d/x:1"):
        lake.files.find(lake.ann, "/d/x", None)
    assert lake.read("/d/x", 1) == b"1"
    with pytest.raises(FileNotFound):
        lake.files.hide(lake.ann, "/d/")
    lake.put({"/d/x": b"4"})
    assert lake.files.find(lake.ann, "/d/x", None).version == 2


def test_missing_things_come_with_a_hint(lake: Lake) -> None:
    lake.put({"/data/train.json": b"1"})
    with pytest.raises(FileNotFound, match=r"did you mean /data/train\.json\?"):
        lake.files.find(lake.ann, "/data/trian.json", None)
    with pytest.raises(VersionNotFound, match="only version 1"):
        lake.files.find(lake.ann, "/data/train.json", 2)
    with pytest.raises(FileNotFound):
        lake.files.find(lake.eve, "/data/train.json", None)
    with pytest.raises(FileNotFound):
        lake.files.places(lake.eve, [digest(b"1")])


def test_listing_pages_through_files_and_directories(lake: Lake) -> None:
    names = [f"/p/{i:03}" for i in range(40)] + [f"/p/{i:03}d/f" for i in range(40)]
    lake.put({path: path.encode() for path in names})
    seen: list[str] = []
    after = ""
    while lines := lake.files.listing(lake.ann, "/p/", after=after, limit=7):
        seen += [line.path for line in lines]
        after = lines[-1].path.rstrip("/").rsplit("/", 1)[1]
    assert len(seen) == 80
    assert seen == sorted(seen, key=lambda path: path.rstrip("/").encode())


def test_very_long_and_odd_paths(lake: Lake) -> None:
    longest = "/" + "/".join(["ü" * 120] * 16)
    odd = "/we ird/@:%25 名前/" + "x" * 255
    lake.put({longest: b"1", odd: b"2"})
    found = [one.path for one in lake.files.under(lake.ann, "/", after="", limit=9)]
    assert found == sorted([longest, odd], key=str.encode)
    assert lake.read(longest) == b"1"
    assert lake.read(odd) == b"2"


def test_resuming_goes_on_where_it_stopped(lake: Lake) -> None:
    first = lake.uploads.open(lake.ann, "key")
    lake.announce(first, {"/a": b"1", "/b": b"2"}, lake.ann)
    lake.send(first, [b"1"], lake.ann)
    again = lake.uploads.open(lake.ann, "key")
    assert (again.id, again.resumed) == (first.id, True)
    assert lake.announce(again, {"/a": b"1", "/c": b"3"}, lake.ann) == [digest(b"3")]
    lake.send(again, [b"3"], lake.ann)
    lake.uploads.commit(lake.ann, again.id, 2)
    assert [f.path for f in lake.files.under(lake.ann, "/", after="", limit=9)] == ["/a", "/c"]
    other = lake.uploads.open(lake.ann, "key")
    assert other.id != first.id
    assert lake.uploads.open(lake.bob, "key").id not in (first.id, other.id)


def test_a_large_object_goes_on_in_its_parts(lake: Lake) -> None:
    size = 41 * MIB
    blob = bytes(size)
    upload = lake.uploads.open(lake.ann, "key")
    lake.announce(upload, {"/big": blob}, lake.ann)
    span = BlobSpan(sha256=digest(blob), size=size, start=0)
    new = NewObject(size=size, sha256=digest(blob), blobs=(span,))
    slot = lake.uploads.add_objects(lake.ann, upload.id, [new])[0]
    assert slot.put is None
    assert slot.part_size is not None
    again = lake.uploads.add_objects(lake.ann, upload.id, [new])[0]
    assert again == slot
    assert lake.uploads.sent_parts(lake.ann, upload.id, slot.id) == []
    with pytest.raises(UploadIncomplete):
        lake.uploads.complete_objects(lake.ann, upload.id, {slot.id: []})


def test_sweeping_leaves_no_orphan_and_loses_nothing(lake: Lake) -> None:
    lake.put({"/kept": b"kept"})
    aborted = lake.uploads.open(lake.ann, None)
    lake.announce(aborted, {"/gone": b"gone"}, lake.ann)
    lake.send(aborted, [b"gone"], lake.ann)
    lake.uploads.abort(lake.ann, aborted.id)
    idle = lake.uploads.open(lake.bob, "idle")
    lake.announce(idle, {"/idle": b"idle"}, lake.bob)
    lake.send(idle, [b"idle"], lake.bob)
    twice = [lake.uploads.open(lake.ann, None) for _ in range(2)]
    for upload in twice:  # both send the same content before either commits
        lake.announce(upload, {"/twice": b"twice"}, lake.ann)
        lake.send(upload, [b"twice"], lake.ann)
    for upload in twice:
        lake.uploads.commit(lake.ann, upload.id, 1)
    lake.sweeper.sweep()
    assert len(lake.keys()) == 5  # URLs may still be good, so nothing goes yet
    lake.advance(2 * HOUR)
    lake.sweeper.sweep()
    assert len(lake.keys()) == 3  # kept, idle, and one copy of twice
    assert lake.announce(idle, {"/idle": b"idle"}, lake.bob) == []
    lake.advance(timedelta(days=8))
    lake.sweeper.sweep()
    with pytest.raises(UploadClosed, match="expired"):
        lake.announce(idle, {"/idle": b"idle"}, lake.bob)
    lake.advance(2 * HOUR)
    lake.sweeper.sweep()
    assert len(lake.keys()) == 2
    assert lake.read("/kept") == b"kept"
    assert lake.read("/twice", 1) == lake.read("/twice", 2) == b"twice"
    assert lake.sweeper.sweep() == 0


def test_a_clock_that_jumps_ahead_expires_nothing(lake: Lake) -> None:
    idle = lake.uploads.open(lake.ann, None)
    lake.advance(2 * HOUR)
    lake.sweeper.sweep()
    lake.clock.now += timedelta(days=400)  # the wall clock alone
    lake.sweeper.sweep()
    assert lake.uploads.find(lake.ann, idle.id).state is UploadState.PENDING
    lake.advance(2 * HOUR)
    lake.announce(idle, {"/a": b"1"}, lake.ann)  # its owner is still there
    lake.sweeper.sweep()
    assert lake.uploads.find(lake.ann, idle.id).state is UploadState.PENDING
    lake.clock.now -= timedelta(days=800)  # and back
    lake.send(idle, [b"1"], lake.ann)
    lake.uploads.commit(lake.ann, idle.id, 1)
    lake.put({"/a": b"2"})
    assert lake.files.find(lake.ann, "/a", None).version == 2


def test_a_hundred_writers_of_one_path(lake: Lake) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            lake.put({"/shared": b"%d" % number, f"/own/{number}": b"own %d" % number})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    versions = lake.files.versions(lake.ann, "/shared", before=1000, limit=200)
    assert [one.version for one in versions] == list(range(100, 0, -1))
    assert len({one.hash for one in versions}) == 100


class SessionsAgainstModel(RuleBasedStateMachine):
    """Random sessions against a plain dictionary of what should be visible."""

    lake: Lake

    def __init__(self) -> None:
        super().__init__()
        SessionsAgainstModel.round += 1
        self.base = f"/r{SessionsAgainstModel.round}"
        self.visible: dict[str, list[bytes]] = {}
        self.hidden: set[str] = set()
        self.open: dict[str, tuple[Upload, dict[str, bytes], set[bytes]]] = {}

    round = 0
    names = st.sampled_from(["a", "b", "c/d", "c/e"])
    contents = st.binary(max_size=3)

    @rule()
    def begin(self) -> None:
        upload = self.lake.uploads.open(self.lake.ann, None)
        self.open[upload.id] = (upload, {}, set())

    @rule(name=names, data=contents, pick=st.integers(0, 5))
    def announce(self, name: str, data: bytes, pick: int) -> None:
        if self.open:
            upload, files, _ = list(self.open.values())[pick % len(self.open)]
            self.lake.announce(upload, {f"{self.base}/{name}": data}, self.lake.ann)
            files[f"{self.base}/{name}"] = data

    @rule(pick=st.integers(0, 5))
    def send(self, pick: int) -> None:
        if self.open:
            upload, files, sent = list(self.open.values())[pick % len(self.open)]
            fresh = set(files.values()) - sent
            if fresh:
                self.lake.send(upload, sorted(fresh), self.lake.ann)
                sent |= fresh

    @rule(pick=st.integers(0, 5))
    def commit(self, pick: int) -> None:
        if not self.open:
            return
        upload, files, sent = list(self.open.values())[pick % len(self.open)]
        try:
            self.lake.uploads.commit(self.lake.ann, upload.id, len(files))
        except (UploadIncomplete, InvalidInput):
            assert not files or set(files.values()) - sent
            return
        for path, data in files.items():
            self.visible.setdefault(path, []).append(data)
            self.hidden.discard(path)
        del self.open[upload.id]

    @rule(pick=st.integers(0, 5))
    def abort(self, pick: int) -> None:
        if self.open:
            upload, _, _ = list(self.open.values())[pick % len(self.open)]
            self.lake.uploads.abort(self.lake.ann, upload.id)
            del self.open[upload.id]

    @rule(name=names)
    def hide(self, name: str) -> None:
        path = f"{self.base}/{name}"
        if path in self.visible and path not in self.hidden:
            self.lake.files.hide(self.lake.ann, path)
            self.hidden.add(path)

    @rule()
    def sweep(self) -> None:
        self.lake.advance(2 * HOUR)
        self.lake.sweeper.sweep()

    @invariant()
    def what_is_visible_is_what_was_committed(self) -> None:
        found = self.lake.files.under(self.lake.ann, f"{self.base}/", after="", limit=100)
        expected = {p: len(v) for p, v in self.visible.items() if p not in self.hidden}
        assert {one.path: one.version for one in found} == expected

    def teardown(self) -> None:
        for path, versions in self.visible.items():
            for number, data in enumerate(versions, start=1):
                assert self.lake.read(path, number) == data


@pytest.mark.slow
def test_sessions_against_a_model(lake: Lake) -> None:
    SessionsAgainstModel.lake = lake
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        SessionsAgainstModel,
        settings=hypothesis_settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
