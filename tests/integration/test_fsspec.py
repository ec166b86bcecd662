"""The lake as an fsspec filesystem, with fsspec's own abstract suite and with our own cases.

Of the abstract suite, what does not apply: cases for empty directories (the suite leaves them
out itself when a filesystem says that it has none; the lake has files only), and the cases of
`mv`, which are about the local filesystem.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.tests import abstract

from acai.client.client import Client
from acai.client.filesystem import AcaiFileSystem
from acai.settings import load
from servers.embedded import Embedded, embedded


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    home = tmp_path_factory.mktemp("fsspec-home")
    with embedded(load({"home": str(home), "port": "0"})) as house:
        yield house


@pytest.fixture
def lake(running: Embedded) -> Client:
    return running.client()


@pytest.fixture
def files(lake: Client) -> AcaiFileSystem:
    return AcaiFileSystem(client=lake, skip_instance_cache=True)


@pytest.fixture
def base(request: pytest.FixtureRequest, files: AcaiFileSystem) -> Iterator[str]:
    """A directory of this test's own."""
    path = f"default/{request.node.name.split('[')[0]}-{abs(hash(request.node.name)) % 10**9}"
    yield path
    if files.isdir(path):
        files.rm(path, recursive=True)


class LakeFixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self, files: AcaiFileSystem) -> AcaiFileSystem:
        return files

    @pytest.fixture
    def fs_path(self, base: str) -> str:
        return base

    @pytest.fixture
    def fs_join(self) -> Callable[..., str]:
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False


@pytest.mark.slow
class TestCopy(abstract.AbstractCopyTests, LakeFixtures):
    pass


@pytest.mark.slow
class TestGet(abstract.AbstractGetTests, LakeFixtures):
    pass


@pytest.mark.slow
class TestPut(abstract.AbstractPutTests, LakeFixtures):
    pass


@pytest.mark.slow
class TestOpen(abstract.AbstractOpenTests, LakeFixtures):
    pass


@pytest.mark.slow
class TestPipe(abstract.AbstractPipeTests, LakeFixtures):
    pass


def test_registered() -> None:
    assert fsspec.get_filesystem_class("acai") is AcaiFileSystem


def test_reads_ranges_and_versions(files: AcaiFileSystem, base: str) -> None:
    first, second = bytes(range(256)) * 40_000, b"two"
    files.pipe_file(f"{base}/a.bin", first)
    files.pipe_file(f"{base}/a.bin", second)
    assert files.cat_file(f"{base}/a.bin") == second
    with files.open(f"acai://{base}/a.bin:1", "rb", block_size=64 * 1024) as file:
        file.seek(1_000_003)
        assert file.read(1000) == first[1_000_003:1_001_003]
        file.seek(-5, io.SEEK_END)
        assert file.read() == first[-5:]
    assert files.cat_file(f"{base}/a.bin:1", start=10, end=-10) == first[10:-10]
    assert files.info(f"{base}/a.bin")["version"] == 2
    assert files.info(f"{base}/a.bin:1")["size"] == len(first)
    assert files.checksum(f"{base}/a.bin") != files.checksum(f"{base}/a.bin:1")


def test_block_that_fails_writes_nothing(files: AcaiFileSystem, base: str) -> None:
    with pytest.raises(ZeroDivisionError), files.open(f"{base}/half.txt", "wb") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert not files.exists(f"{base}/half.txt")


def test_append_and_exclusive(files: AcaiFileSystem, base: str) -> None:
    with files.open(f"{base}/log.txt", "wb") as file:
        file.write(b"one\n")
    with files.open(f"{base}/log.txt", "ab") as file:
        assert file.tell() == 4
        file.write(b"two\n")
    assert files.cat_file(f"{base}/log.txt") == b"one\ntwo\n"
    with pytest.raises(FileExistsError):
        files.open(f"{base}/log.txt", "xb")


def test_transaction_is_one_session(files: AcaiFileSystem, lake: Client, base: str) -> None:
    with files.transaction:
        for name in ("a", "b"):
            with files.open(f"{base}/{name}", "wb") as file:
                file.write(name.encode())
        assert not files.exists(f"{base}/a")
    times = {files.info(f"{base}/{name}")["created"] for name in ("a", "b")}
    assert len(times) == 1
    with pytest.raises(ZeroDivisionError), files.transaction:
        with files.open(f"{base}/c", "wb") as file:
            file.write(b"c")
        raise ZeroDivisionError
    assert not files.exists(f"{base}/c")
    files.pipe_file(f"{base}/after", b"a transaction has ended")
    assert files.exists(f"{base}/after")


def test_copy_sends_no_bytes(
    files: AcaiFileSystem, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.pipe_file(f"{base}/from.txt", b"content")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("bytes were sent or read")

    monkeypatch.setattr("acai.client.transfer.sending.Sender.pack", refuse)
    monkeypatch.setattr("acai.client.transfer.fetching.Fetcher.read", refuse)
    files.mv(f"{base}/from.txt", f"{base}/to.txt")
    monkeypatch.undo()
    assert files.find(base) == [f"{base}/to.txt"]
    assert files.cat_file(f"{base}/to.txt") == b"content"


def test_names_with_marks_can_be_opened(files: AcaiFileSystem, base: str, tmp_path: Path) -> None:
    odd = tmp_path / "me@home:3 100%.txt"
    odd.write_text("odd")
    files.put_file(str(odd), f"{base}/me%40home%3A3 100%25.txt")
    (name,) = files.ls(base, detail=False)
    assert name == f"{base}/me%40home:3 100%25.txt"
    assert files.cat_file(name) == b"odd"
    assert files.find(base) == [name]


def test_what_a_set_holds(files: AcaiFileSystem, lake: Client, base: str) -> None:
    files.pipe({f"{base}/a": b"1", f"{base}/sub/b": b"2"})
    below = base.removeprefix("default")
    lake.create_file_set("frozen", [f"{below}/"])
    files.pipe_file(f"{base}/a", b"later")
    assert files.cat_file(f"{base}/a@frozen") == b"1"
    assert files.ls(f"{base}@frozen", detail=False) == [f"{base}/a@frozen", f"{base}/sub@frozen"]
    assert files.find("default/@frozen") == [f"{base}/a@frozen", f"{base}/sub/b@frozen"]
    assert files.isdir(f"{base}/sub@frozen")
    with pytest.raises(ValueError, match="cannot be written"):
        files.open(f"{base}/a@frozen", "wb")


def test_errors_are_the_ones_of_files(files: AcaiFileSystem, base: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(f"{base}/nothing", "rb")
    with pytest.raises(FileNotFoundError):
        files.ls(f"{base}/nothing")
    with pytest.raises(ValueError, match="version"):
        files.info(f"{base}/a:zero:0")
    files.pipe_file(f"{base}/d/a", b"")
    with pytest.raises(OSError, match="not empty"):
        files.rmdir(f"{base}/d")
    with pytest.raises(IsADirectoryError):
        files.rm(f"{base}/d")


def test_projects_are_listed(files: AcaiFileSystem) -> None:
    assert files.ls("", detail=False) == ["default"]


def test_pandas(files: AcaiFileSystem, base: str, running: Embedded) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    options = {"client": running.client(), "skip_instance_cache": True}
    frame.to_csv(f"acai://{base}/x.csv", index=False, storage_options=options)
    again = pandas.read_csv(f"acai://{base}/x.csv", storage_options=options)
    assert again.equals(frame)
