"""Every object store passes the same suites; then what only some of them have."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from acai.atomic import copy_atomically
from acai.model.errors import (
    ChecksumMismatch,
    Conflict,
    InvalidInput,
    InvalidSetting,
    StorageFull,
    Unavailable,
)
from acai.model.ids import Sha256, random_word
from acai.model.keys import check_key, random_key
from acai.samehost import LocalGrant
from acai.stores.objects.base import MIB, SigningStore, check_parts, part_size_for
from acai.stores.objects.local import LocalStore, storage_errors
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.objects.opening import open_store
from acai.stores.objects.permits import Permit
from acai.testing.object_server import serve_objects
from acai.testing.objects import ObjectStoreContract
from acai.testing.signed_objects import MultipartContract, SignerContract, send
from servers.seaweed import SeaweedServer, serve

SECRET = b"a secret of thirty-two bytes ...."
AZURE = os.environ.get("ACAI_TEST_AZURE")


class TestLocal(ObjectStoreContract, SignerContract, MultipartContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[LocalStore]:
        def make(base_url: str) -> LocalStore:
            return LocalPartsStore(
                tmp_path, sign_secret=SECRET, public_base_url=base_url, durable=False
            )

        with serve_objects(make) as store:
            yield store


class TestS3(ObjectStoreContract, SignerContract, MultipartContract):
    @pytest.fixture
    def store(self, seaweed: SeaweedServer) -> SigningStore:
        url = seaweed.url("contract", f"run/{random_word(8)}")
        return open_store(url, sign_secret=SECRET, environment=seaweed.environment)


if AZURE is not None:

    class TestAzure(ObjectStoreContract, SignerContract):
        """Against an account or an emulator that the developer names; see design/objects.md."""

        binds_content = False

        @pytest.fixture
        def store(self) -> SigningStore:
            head, _, options = str(AZURE).partition("?")
            url = f"{head.rstrip('/')}/{random_word(8)}?{options}"
            return open_store(url, sign_secret=SECRET)


@pytest.fixture
def local(tmp_path: Path) -> LocalPartsStore:
    return LocalPartsStore(tmp_path / "objects", sign_secret=SECRET)


def test_an_unfinished_file_is_in_no_listing_and_is_swept_by_age(local: LocalPartsStore) -> None:
    permit = Permit(method="PUT", key="a/b", expires=0, size=10)
    incoming = local.incoming(permit)
    incoming.write(b"half")
    assert list(local.list()) == []
    assert local.sweep_temporary(timedelta(hours=1)) == 0
    assert local.sweep_temporary(timedelta(seconds=-5)) == 1
    incoming.__exit__(None, None, None)


@pytest.mark.parametrize("body", [b"wrong", b"right and more", b"rig"])
def test_wrong_bytes_are_refused_before_the_rename(local: LocalPartsStore, body: bytes) -> None:
    local.put("key", b"before")
    sha256 = Sha256(hashlib.sha256(b"right").hexdigest())
    permit = Permit(method="PUT", key="key", expires=0, size=5, sha256=sha256)
    with pytest.raises(ChecksumMismatch):
        local.receive(permit, [body[:2], body[2:]])
    assert b"".join(local.get("key")) == b"before"
    assert local.sweep_temporary(timedelta(seconds=-5)) == 0


def test_a_full_disk_is_told_and_leaves_nothing(local: LocalPartsStore) -> None:
    # A limit on the size of files fails a write half-way, as a full disk does.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, hard))
    try:
        with pytest.raises(Unavailable, match="too large"):
            local.put("big", (b"x" * MIB for _ in range(8)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list(local.list()) == []
    assert local.sweep_temporary(timedelta(seconds=-5)) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_room_is_its_own_error() -> None:
    with (
        pytest.raises(StorageFull),
        storage_errors("key"),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"x")


def test_a_key_cannot_be_a_directory_of_another(local: LocalPartsStore) -> None:
    local.put("a/b", b"x")
    with pytest.raises(Conflict):
        local.put("a", b"x")
    with pytest.raises(Conflict):
        local.put("a/b/c", b"x")
    assert [info.key for info in local.list()] == ["a/b"]


def test_one_part_is_received_once_at_a_time(local: LocalPartsStore) -> None:
    upload = local.start_multipart("big", size=6, part_size=4)
    permit = Permit(method="PUT", key="big", expires=0, size=4, upload=upload, part=1)
    with local.incoming(permit) as first:
        first.write(b"ab")
        with pytest.raises(Unavailable), local.incoming(permit):
            pass
        with pytest.raises(Unavailable):
            local.complete_multipart("big", upload, [])
    assert local.list_parts("big", upload) == []
    local.receive(permit, [b"abcd"])
    assert [part.number for part in local.list_parts("big", upload)] == [1]


def test_completing_can_be_repeated_after_a_crash_half_way(local: LocalPartsStore) -> None:
    upload = local.start_multipart("big", size=4, part_size=4)
    permit = Permit(method="PUT", key="big", expires=0, size=4, upload=upload, part=1)
    local.receive(permit, [b"abcd"])
    parts = local.list_parts("big", upload)
    directory = local.root / ".acai" / "uploads" / upload
    (directory / "data").rename(local.root / "big")
    assert local.complete_multipart("big", upload, parts).size == 4
    local.abort_multipart("big", upload)
    assert not directory.exists()
    assert b"".join(local.get("big")) == b"abcd"


def test_the_rest_of_an_upload_that_was_being_removed_is_swept(local: LocalPartsStore) -> None:
    whole = local.start_multipart("one", size=4, part_size=4)
    torn = local.start_multipart("two", size=4, part_size=4)
    (local.root / ".acai" / "uploads" / torn / "about").unlink()
    assert local.sweep_temporary(timedelta(hours=1)) == 0
    assert local.sweep_temporary(timedelta(seconds=-5)) == 1
    assert [path.name for path in (local.root / ".acai" / "uploads").iterdir()] == [whole]


def test_a_part_has_to_fit(local: LocalPartsStore) -> None:
    upload = local.start_multipart("big", size=6, part_size=4)
    sha256 = Sha256("0" * 64)
    for number, size in ((0, 4), (1, 3), (2, 4), (3, 1)):
        with pytest.raises(InvalidInput):
            local.sign_part(
                "big", upload, number=number, size=size, sha256=sha256, expires=timedelta(1)
            )


def test_a_client_on_the_same_host_finds_the_directory(
    local: LocalPartsStore, tmp_path: Path
) -> None:
    grant = local.grant()
    assert grant.writable()
    assert grant.word not in repr(grant)
    again = LocalPartsStore(local.root, sign_secret=SECRET).grant()
    assert again == grant
    assert not LocalGrant(root=grant.root, word="0" * 48).readable()
    assert not LocalGrant(root=str(tmp_path), word=grant.word).readable()
    source = tmp_path / "mine.bin"
    source.write_bytes(b"x" * 100_000)
    assert copy_atomically(source, grant.path("a/b"), scratch=grant.scratch) == 100_000
    source.write_bytes(b"changed later")
    assert b"".join(local.get("a/b")) == b"x" * 100_000
    with pytest.raises(InvalidInput):
        grant.path("../outside")


def test_processes_that_start_together_agree_on_the_probe(tmp_path: Path) -> None:
    found: list[str] = []
    start = threading.Barrier(4)

    def open_one() -> None:
        start.wait()
        found.append(LocalStore(tmp_path / "new", sign_secret=SECRET).grant().word)

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_without_a_base_url_a_signed_url_is_relative_to_the_server(local: LocalStore) -> None:
    assert local.sign_get("a/b", expires=timedelta(1)).url.startswith("/api/v1/objects/a/b?")


def test_a_dead_s3_server_is_unavailable_and_soon() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        open_store("s3://id:top-secret@bucket/?endpoint=http://127.0.0.1:9", sign_secret=SECRET)


def test_a_server_that_dies_half_way_is_noticed(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        store = open_store(server.url("mortal"), sign_secret=SECRET, environment=server.environment)
        store.put("long", (b"x" * MIB for _ in range(32)))
        stream = store.get("long")
        next(stream)
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(Unavailable):
            for _ in stream:
                pass
        with pytest.raises(Unavailable):
            store.check()
        with pytest.raises(Unavailable):
            store.head("long")
        with pytest.raises(Unavailable):
            store.delete(["a", "b"])


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(InvalidSetting, match=r"pip install 'acai\[s3\]'"):
        open_store("s3://bucket", sign_secret=SECRET)


def test_wrong_credentials_are_unavailable_and_not_shown(seaweed: SeaweedServer) -> None:
    wrong = {**seaweed.environment, "AWS_SECRET_ACCESS_KEY": "not-the-secret"}
    with pytest.raises(Unavailable, match="credentials") as caught:
        open_store(seaweed.url("contract"), sign_secret=SECRET, environment=wrong)
    assert "not-the-secret" not in str(caught.value)


def test_two_prefixes_of_a_bucket_do_not_see_each_other(seaweed: SeaweedServer) -> None:
    one, two = (
        open_store(seaweed.url("shared", name), sign_secret=SECRET, environment=seaweed.environment)
        for name in ("one", "two")
    )
    one.put("key", b"one")
    two.put("key", b"two")
    assert b"".join(one.get("key")) == b"one"
    assert [info.key for info in two.list()] == ["key"]
    assert send(one.sign_get("key", expires=timedelta(minutes=1))).data == b"one"


def test_clients_may_be_given_another_address_than_the_server_uses(seaweed: SeaweedServer) -> None:
    url = seaweed.url("contract") + "&public_endpoint=https://data.example.org"
    store = open_store(url, sign_secret=SECRET, environment=seaweed.environment)
    signed = store.sign_get("a", expires=timedelta(minutes=1))
    assert signed.url.startswith("https://data.example.org/contract/a?")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "s4://bucket",
        "s3:bucket",
        "s3://",
        "s3://bucket?endpont=http://x",
        "s3://bucket/a b",
        "s3://bucket?endpoint=localhost:9000",
        "s3://bucket?style=virtual",
        "file://host/dir",
        "az://container",
        "http://bucket",
    ],
)
def test_a_mistake_in_the_url_is_explained(url: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        open_store(
            url,
            sign_secret=SECRET,
            environment={"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "top-secret"},
        )
    assert "top-secret" not in caught.value.message


def test_missing_credentials_are_named_and_given_ones_hidden() -> None:
    with pytest.raises(InvalidSetting, match="AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket", sign_secret=SECRET, environment={})
    with pytest.raises(InvalidSetting) as caught:
        open_store("s3://id:top-secret@bucket?nonsense=1", sign_secret=SECRET)
    assert "top-secret" not in caught.value.message


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_directory_is_a_store(tmp_path: Path, form: str) -> None:
    store = open_store(form.format(tmp_path / "new"), sign_secret=SECRET)
    store.put("a/b", b"x")
    assert (tmp_path / "new/a/b").read_bytes() == b"x"


def test_keys_and_parts_that_we_make_are_good_ones() -> None:
    made = {check_key(random_key("p1/objects")) for _ in range(100)}
    assert len(made) == 100
    for size in (1, 64 * MIB, 10**12, 5 * 10**13):
        check_parts(size, part_size_for(size))
    with pytest.raises(InvalidInput):
        check_parts(10_001, 1)
