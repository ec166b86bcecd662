"""Uploads and downloads beside plain S3 clients, dvc, mlflow and cp, in one run.

    python bench/lake/transfer.py [--files 2000 20000] [--large-mb 256] [--rounds 3] [--no-peers]

A real S3 server (SeaweedFS) and two acai servers run as processes of their own: one stores in
S3, one in a directory. Each measurement is a process too, and times only the transfer, not the
start of the interpreter. All take turns in every round, and the best of each counts: others use
the machine too. Every round has files with new content, as acai sends none twice. dvc and mlflow
are installed into an environment below the user's cache; they take part in one round.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from threading import local
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "src"))

PEERS = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "acai-bench" / "peers"
PEER_PACKAGES = ["dvc[s3]>=3.50", "mlflow>=2.15"]
SMALL = 8192
WITHIN = 900  # seconds for one measurement
MIB = 1024 * 1024


def make_small(directory: Path, count: int, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(count):
        if number % 1000 == 0:
            below = directory / f"{number // 1000:04d}"
            below.mkdir(parents=True)
        (below / f"{number:06d}.bin").write_bytes(rng.randbytes(SMALL))


def make_large(directory: Path, megabytes: int, seed: int) -> None:
    directory.mkdir(parents=True)
    for number in range(4):
        rng = random.Random(seed * 10 + number)
        with (directory / f"{number}.bin").open("wb") as out:
            for _ in range(megabytes):
                out.write(rng.randbytes(1_000_000))


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def acai_up(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    client = _client(about)
    return lambda: _ignore(client.upload(directory, about["key"], list_up_to=0))


def acai_down(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    client = _client(about)
    return lambda: _ignore(client.download(about["key"], directory))


def _client(about: dict[str, Any]) -> Any:
    import acai.client.transfer.running  # noqa: F401  loaded now, not while time is taken
    from acai.client.client import Client

    client = Client(about["server"], about["token"])
    client.whoami()
    return client


def _ignore(_: object) -> None:
    pass


def cp(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    target = about["target"]
    return lambda: _ignore(subprocess.run(["cp", "-r", str(directory), target], check=True))


def cp_and_hash(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    def act() -> None:
        subprocess.run(["cp", "-r", str(directory), about["target"]], check=True)
        for path in files_of(directory):
            with path.open("rb") as file:
                hashlib.file_digest(file, "sha256").hexdigest()

    return act


def _obstore(about: dict[str, Any]) -> Any:
    from obstore.store import S3Store

    return S3Store(
        about["bucket"],
        endpoint=about["endpoint"],
        access_key_id=about["access_key"],
        secret_access_key=about["secret_key"],
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, "timeout": "600s"},
    )


async def _at_once(most: int, tasks: Iterator[Any]) -> None:
    gate = asyncio.Semaphore(most)

    async def one(task: Any) -> None:
        async with gate:
            await task

    await asyncio.gather(*(one(task) for task in tasks))


def obstore_up(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    import obstore

    bucket = _obstore(about)
    paths = files_of(directory)
    at_once = 4 if about["large"] else 32

    async def put(path: Path) -> None:
        body = path if about["large"] else path.read_bytes()
        await obstore.put_async(bucket, f"{about['key']}{path.relative_to(directory)}", body)

    return lambda: asyncio.run(_at_once(at_once, (put(path) for path in paths)))


def obstore_down(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    import obstore

    bucket = _obstore(about)
    directory.mkdir(parents=True)

    async def get(name: str) -> None:
        answer = await obstore.get_async(bucket, about["key"] + name)
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            async for chunk in answer.stream(min_chunk_size=MIB):
                out.write(chunk)

    at_once = 4 if about["large"] else 32
    return lambda: asyncio.run(_at_once(at_once, (get(name) for name in about["names"])))


def _signed(about: dict[str, Any], method: str, keys: list[str]) -> list[str]:
    import obstore

    bucket = _obstore(about)
    whole = timedelta(hours=1)
    return [obstore.sign(bucket, method, key, whole) for key in keys]  # type: ignore[call-overload]


class _Connections(local):
    def __init__(self) -> None:
        self.open: HTTPConnection | None = None

    def to(self, endpoint: str) -> HTTPConnection:
        if self.open is None:
            self.open = HTTPConnection(urlsplit(endpoint).netloc, timeout=600, blocksize=MIB)
        return self.open


def _on_threads(count: int, act: Callable[[Any], None], items: list[Any]) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(act, items))


def plain_up(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    """Signed URLs, threads, http.client: no checksum, one request for each file."""
    paths = files_of(directory)
    keys = [f"{about['key']}{path.relative_to(directory)}" for path in paths]
    urls = _signed(about, "PUT", keys)
    connections = _Connections()

    def put(pair: tuple[str, Path]) -> None:
        url, path = pair
        connection = connections.to(about["endpoint"])
        with path.open("rb") as body:
            length = str(path.stat().st_size)
            connection.request("PUT", url, body, {"content-length": length})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status

    threads = 4 if about["large"] else 8
    return lambda: _on_threads(threads, put, list(zip(urls, paths, strict=True)))


def plain_down(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    import urllib3

    names = about["names"]
    urls = _signed(about, "GET", [about["key"] + name for name in names])
    pool = urllib3.PoolManager(maxsize=8)

    def get(pair: tuple[str, str]) -> None:
        url, name = pair
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        answer = pool.request("GET", url, preload_content=False)
        assert answer.status == 200, answer.status
        with target.open("wb") as out:
            for chunk in answer.stream(MIB):
                out.write(chunk)
        answer.release_conn()

    threads = 4 if about["large"] else 8
    return lambda: _on_threads(threads, get, list(zip(urls, names, strict=True)))


def mlflow_up(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{about['work']}/mlflow.db")
    place = f"s3://{about['bucket']}/mlflow"
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("bench", place))
    mlflow.start_run()
    return lambda: mlflow.log_artifacts(str(directory))


def dvc_up(directory: Path, about: dict[str, Any]) -> Callable[[], None]:
    work = Path(about["work"]) / "dvc"
    work.mkdir()
    shutil.copytree(directory, work / "data")
    bench = Path(sys.executable).parent / "dvc"

    def dvc(*words: str) -> None:
        subprocess.run([str(bench), "-q", *words], cwd=work, check=True)

    dvc("init", "--no-scm")
    dvc("remote", "add", "-d", "s3", f"s3://{about['bucket']}/dvc")
    dvc("remote", "modify", "s3", "endpointurl", about["endpoint"])
    dvc("add", "data")
    return lambda: dvc("push")


WORKERS = {
    each.__name__: each
    for each in (
        acai_up,
        acai_down,
        cp,
        cp_and_hash,
        obstore_up,
        obstore_down,
        plain_up,
        plain_down,
        mlflow_up,
        dvc_up,
    )
}


def work(name: str, directory: Path, about: dict[str, Any]) -> None:
    act = WORKERS[name](directory, about)
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    act()
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": seconds, "cpu": cpu, "rss": after.ru_maxrss / 1024}))


class Bench:
    def __init__(self, place: Path, about: dict[str, Any]) -> None:
        self.place = place
        self.about = about

    def run(
        self, name: str, directory: Path, python: str = sys.executable, **more: Any
    ) -> dict[str, float] | None:
        given = json.dumps({**self.about, **more})
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": self.about["access_key"],
            "AWS_SECRET_ACCESS_KEY": self.about["secret_key"],
            "AWS_DEFAULT_REGION": "us-east-1",
            "MLFLOW_S3_ENDPOINT_URL": self.about["endpoint"],
            "AWS_ENDPOINT_URL": self.about["endpoint"],
            "DVC_NO_ANALYTICS": "1",
        }
        done = subprocess.run(
            [python, __file__, "--worker", name, str(directory)],
            input=given,
            env=environment,
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )
        if done.returncode:
            print(f"  {name} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        return found


class Table:
    """The best of each competitor; the first is ours."""

    def __init__(self, title: str, amount: float, unit: str) -> None:
        self.title = title
        self.amount = amount
        self.unit = unit
        self.best: dict[str, dict[str, float] | None] = {}

    def add(self, name: str, found: dict[str, float] | None) -> None:
        known = self.best.get(name)
        if known is None or (found is not None and found["seconds"] < known["seconds"]):
            self.best[name] = found

    def show(self) -> None:
        ours = next(iter(self.best.values()))
        print(f"\n{self.title}")
        print(f"  {'':<34}{self.unit:>12}{'acai is':>10}{'CPU s':>8}{'MB':>7}")
        for name, found in self.best.items():
            if found is None or ours is None:
                print(f"  {name:<34}{'failed':>12}")
                continue
            ratio = found["seconds"] / ours["seconds"]
            rate = self.amount / found["seconds"]
            figures = f"{rate:>12,.0f}{ratio:>9.2f}x{found['cpu']:>8.2f}{found['rss']:>7.0f}"
            print(f"  {name:<34}{figures}", flush=True)


def small(
    bench: Bench, count: int, servers: dict[str, Any], peers: str | None, rounds: int
) -> None:
    s3, near = servers["s3"], servers["local"]
    up, down, here, back = (
        Table(f"{count:,} files of 8 KiB {where}", count, "files/s")
        for where in ("to S3", "from S3", "to a directory", "from a directory")
    )
    for turn in range(rounds):
        data, out = bench.place / "small", bench.place / "out"
        make_small(data, count, seed=count + turn)
        names = [str(path.relative_to(data)) for path in files_of(data)]
        key = f"small-{count}-{turn}/"
        each = {"large": False}
        one = "one request a file"
        up.add("acai", bench.run("acai_up", data, key=f"/{key}", **s3))
        up.add(f"obstore, {one}", bench.run("obstore_up", data, key=f"o/{key}", **each))
        up.add(f"http.client, {one}", bench.run("plain_up", data, key=f"p/{key}", **each))
        if peers and turn == 0:
            at = tempfile.mkdtemp(dir=bench.place)
            up.add("dvc push", bench.run("dvc_up", data, peers, work=at))
            up.add("mlflow.log_artifacts", bench.run("mlflow_up", data, peers, work=at))
            shutil.rmtree(at)
        each |= {"names": names}
        down.add("acai", bench.run("acai_down", out / "a", key=f"/{key}", **s3))
        down.add(f"obstore, {one}", bench.run("obstore_down", out / "o", key=f"o/{key}", **each))
        down.add(f"urllib3, {one}", bench.run("plain_down", out / "p", key=f"p/{key}", **each))
        here.add("acai", bench.run("acai_up", data, key=f"/{key}", **near))
        here.add("cp -r and SHA-256", bench.run("cp_and_hash", data, target=str(out / "c1")))
        here.add("cp -r", bench.run("cp", data, target=str(out / "c2")))
        back.add("acai", bench.run("acai_down", out / "b", key=f"/{key}", **near))
        back.add("cp -r and SHA-256", bench.run("cp_and_hash", data, target=str(out / "c3")))
        shutil.rmtree(data)
        shutil.rmtree(out)
    for table in (up, down, here, back):
        table.show()


def large(bench: Bench, megabytes: int, servers: dict[str, Any], rounds: int) -> None:
    s3, near = servers["s3"], servers["local"]
    up, down, here, back = (
        Table(f"4 files of {megabytes} MB {where}", 4 * megabytes, "MB/s")
        for where in ("to S3", "from S3", "to a directory", "from a directory")
    )
    for turn in range(rounds):
        data, out = bench.place / "large", bench.place / "out"
        make_large(data, megabytes, seed=turn)
        key = f"large-{turn}/"
        each = {"large": True, "names": [path.name for path in files_of(data)]}
        up.add("acai", bench.run("acai_up", data, key=f"/{key}", **s3))
        up.add("http.client, signed PUT", bench.run("plain_up", data, key=f"p/{key}", **each))
        up.add("obstore", bench.run("obstore_up", data, key=f"o/{key}", **each))
        down.add("acai (verified)", bench.run("acai_down", out / "a", key=f"/{key}", **s3))
        down.add("urllib3, signed GET", bench.run("plain_down", out / "p", key=f"p/{key}", **each))
        down.add("obstore", bench.run("obstore_down", out / "o", key=f"o/{key}", **each))
        shutil.rmtree(out)
        out.mkdir()
        here.add("acai", bench.run("acai_up", data, key=f"/{key}", **near))
        here.add("cp -r and SHA-256", bench.run("cp_and_hash", data, target=str(out / "c1")))
        back.add("acai", bench.run("acai_down", out / "b", key=f"/{key}", **near))
        back.add("cp -r and SHA-256", bench.run("cp_and_hash", data, target=str(out / "c2")))
        shutil.rmtree(out)
        shutil.rmtree(data)
    for table in (up, down, here, back):
        table.show()


def peer_environment() -> str | None:
    """A Python that has dvc and mlflow; None if they cannot be had."""
    python = PEERS / "bin" / "python"
    marker = PEERS / "ready"
    if not marker.exists():
        print(f"installing {', '.join(PEER_PACKAGES)} into {PEERS}", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True, timeout=120)
            install = [str(python), "-m", "pip", "install", "-q", *PEER_PACKAGES]
            subprocess.run(install, check=True, timeout=900)
            # mlflow wants boto3, in the one version that goes with dvc's botocore.
            ask = "from importlib.metadata import version as v; print(v('botocore'))"
            asked = subprocess.run([str(python), "-c", ask], check=True, capture_output=True)
            pinned = f"botocore=={asked.stdout.decode().strip()}"
            subprocess.run([*install[:5], "boto3", pinned], check=True, timeout=900)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"no peers: {error}", file=sys.stderr)
            return None
        marker.touch()
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, nargs="+", default=[2000, 20_000])
    parser.add_argument("--large-mb", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only", choices=["small", "large"])
    given = parser.parse_args()
    from acai.client.credentials import discover
    from servers.acai_up import acai_up as serve_acai
    from servers.seaweed import serve as serve_s3

    peers = None if given.no_peers or given.only == "large" else peer_environment()
    with tempfile.TemporaryDirectory(prefix="acai-bench-") as place:
        home = Path(place)
        (home / "weed").mkdir()
        with (
            serve_s3(home / "weed") as s3,
            serve_acai(home / "s3", {**s3.environment, "ACAI_STORAGE": s3.url("acai")}) as far,
            serve_acai(home / "local") as near,
        ):
            servers = {
                name: {
                    "server": one.url,
                    "token": discover(environ={"ACAI_HOME": str(one.home)}).token,
                }
                for name, one in (("s3", far), ("local", near))
            }
            about = {
                "bucket": "acai",
                "endpoint": s3.endpoint,
                "access_key": s3.access_key,
                "secret_key": s3.secret_key,
            }
            bench = Bench(home, about)
            if given.only != "large":
                for count in given.files:
                    small(bench, count, servers, peers, given.rounds)
            if given.only != "small":
                large(bench, given.large_mb, servers, given.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], Path(sys.argv[3]), json.load(sys.stdin))
    else:
        main()
