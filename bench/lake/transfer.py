"""Uploads and downloads beside other tools and beside what the machine can do.

    python bench/lake/transfer.py [--small 2000,20000] [--large 4x256] [--peers PYTHON]

Small files (8 KB each) and large ones go to a real S3 server (SeaweedFS) and to a directory.
`--peers` names a Python that has `dvc[s3]` and `mlflow` with boto3; without it they are left
out. Every contender runs in a process of its own, which tells its time and its memory; the
acai server runs beside it, as it would. Prints ratios: the machine decides the rest.
"""

from __future__ import annotations

import argparse
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
BUCKET = "bench"
THREADS = 16


def make_files(place: Path, count: int, size: int) -> None:
    choose = random.Random(count)
    for number in range(count):
        target = place / f"d{number % 50:02}" / f"f{number:05}.bin"
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            for start in range(0, size, 1 << 20):
                out.write(choose.randbytes(min(1 << 20, size - start)))


def child(name: str, *words: str) -> None:
    """Run one contender in this process, and print what it took, imports apart."""
    import acai.client.client
    import acai.client.transfer.download
    import acai.client.transfer.upload
    import obstore.store  # noqa: F401  all are loaded before the clock starts

    started = time.perf_counter()
    note = CONTENDERS[name](*words)
    seconds = time.perf_counter() - started
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "rss": rss, "note": note}))


def acai_up(source: str, remote: str) -> None:
    from acai.client.client import Client

    with Client() as client:
        client.upload(source, remote)


def acai_down(remote: str, target: str) -> None:
    from acai.client.client import Client

    with Client() as client:
        client.download(remote, target)


def _store() -> Any:
    from obstore.store import S3Store

    return S3Store(
        BUCKET,
        endpoint=os.environ["AWS_ENDPOINT_URL"],
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def obstore_up(source: str, prefix: str) -> None:
    """One request a file, sixteen at once: the best client of that kind."""
    import obstore

    store = _store()
    files = [path for path in Path(source).rglob("*") if path.is_file()]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda p: obstore.put(store, prefix + str(p.relative_to(source)), p), files))


def obstore_down(prefix: str, target: str) -> None:
    import obstore

    store = _store()
    keys = [row["path"] for page in obstore.list(store, prefix) for row in page]

    def fetch(key: str) -> None:
        out = Path(target) / key
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("wb") as file:
            for chunk in obstore.get(store, key).stream(min_chunk_size=1 << 20):
                file.write(chunk)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fetch, keys))


def copy_and_hash(source: str, target: str) -> None:
    """What any tool must do at least: read, hash, write."""
    import hashlib

    shutil.copytree(source, target)
    for path in Path(source).rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                hashlib.file_digest(file, "sha256")


CONTENDERS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (acai_up, acai_down, obstore_up, obstore_down, copy_and_hash)
}
MLFLOW = """
import json, sys, time, mlflow
place, source = sys.argv[1:]
mlflow.set_tracking_uri("sqlite:///" + place + "/mlflow.db")
mlflow.create_experiment("b", artifact_location="s3://bench/mlflow"); mlflow.set_experiment("b")
with mlflow.start_run():
    started = time.perf_counter(); mlflow.log_artifacts(source)
    print(json.dumps({"seconds": time.perf_counter() - started, "rss": 0}))
"""


def run(environment: dict[str, str], name: str, *words: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode != 0:
        raise SystemExit(f"{name} failed: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def dvc_push(peers: Path, environment: dict[str, str], place: Path, source: Path) -> float:
    work = place / "dvc"
    work.mkdir()
    shutil.copytree(source, work / "data")
    # dvc finds its S3 client in the environment of the Python that it runs in.
    dvc = [str(peers), "-m", "dvc"]

    def step(*words: str) -> None:
        subprocess.run([*dvc, *words], cwd=work, env=environment, check=True, capture_output=True)

    step("init", "--no-scm")
    step("remote", "add", "-d", "s3", f"s3://{BUCKET}/dvc-{random.random()}")
    step("remote", "modify", "s3", "endpointurl", environment["AWS_ENDPOINT_URL"])
    step("add", "data")
    started = time.perf_counter()
    step("push")
    spent = time.perf_counter() - started
    shutil.rmtree(work)
    return spent


def mlflow_log(peers: Path, environment: dict[str, str], place: Path, source: Path) -> float:
    work = place / "mlflow"
    work.mkdir()
    more = {"MLFLOW_S3_ENDPOINT_URL": environment["AWS_ENDPOINT_URL"]}
    done = subprocess.run(
        [str(peers), "-c", MLFLOW, str(work), str(source)],
        env={**environment, **more},
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
    shutil.rmtree(work)
    seconds: float = json.loads(done.stdout.strip().splitlines()[-1])["seconds"]
    return seconds


@contextmanager
def platform(
    place: Path, name: str, storage: str, environment: dict[str, str]
) -> Iterator[dict[str, str]]:
    from servers.acai_up import acai_up, clean_environment

    home = place / name
    more = {**environment, **({"ACAI_STORAGE": storage} if storage else {})}
    with acai_up(home, more):
        yield clean_environment(home, **environment)


def line(name: str, value: float, unit: str, ours: float, note: str = "") -> None:
    ratio = f"{ours / value:8.2f}x" if value else ""
    print(f"  {name:44}{value:10,.0f} {unit}{ratio:>10}  {note}", flush=True)


def small(
    place: Path, count: int, environment: dict[str, str], peers: Path | None, s3: str
) -> None:
    source = place / f"small-{count}"
    make_files(source, count, 8192)
    print(f"\n{count:,} files of 8 KB, files/s (and acai's rate as a multiple of it)")
    with platform(place, f"s3-{count}", s3, environment) as env:
        up = run(env, "acai_up", str(source), "/small/")
        down = run(env, "acai_down", "/small/", str(place / f"out-{count}"))
    ours_up, ours_down = count / up["seconds"], count / down["seconds"]
    line("acai to S3", ours_up, "files/s", ours_up, f"{up['rss']:.0f} MB")
    one = run(environment, "obstore_up", str(source), f"one-{count}/")
    line("one request a file (obstore) to S3", count / one["seconds"], "files/s", ours_up)
    if peers is not None:
        line("dvc push", count / dvc_push(peers, environment, place, source), "files/s", ours_up)
        if count <= 2000:
            spent = mlflow_log(peers, environment, place, source)
            line("mlflow.log_artifacts", count / spent, "files/s", ours_up)
    line("acai from S3", ours_down, "files/s", ours_down)
    one = run(environment, "obstore_down", f"one-{count}/", str(place / f"one-out-{count}"))
    line("one request a file (obstore) from S3", count / one["seconds"], "files/s", ours_down)
    with platform(place, f"local-{count}", "", environment) as env:
        up = run(env, "acai_up", str(source), "/small/")
        down = run(env, "acai_down", "/small/", str(place / f"out-local-{count}"))
    ours_up, ours_down = count / up["seconds"], count / down["seconds"]
    line("acai to a directory", ours_up, "files/s", ours_up)
    limit = run(environment, "copy_and_hash", str(source), str(place / f"copy-{count}"))
    line("limit: cp -r and SHA-256", count / limit["seconds"], "files/s", ours_up)
    line("acai from a directory", ours_down, "files/s", ours_down)
    line("limit: cp -r and SHA-256", count / limit["seconds"], "files/s", ours_down)


def large(place: Path, count: int, megabytes: int, environment: dict[str, str], s3: str) -> None:
    source = place / "large"
    make_files(source, count, megabytes * 1_000_000)
    total = count * megabytes
    print(f"\n{count} files of {megabytes} MB, MB/s (and acai's rate as a multiple of it)")
    rates: dict[str, list[float]] = {}
    rss: list[float] = []
    for turn in range(2):
        with platform(place, f"s3-large-{turn}", s3, environment) as env:
            up = run(env, "acai_up", str(source), "/large/")
            down = run(env, "acai_down", "/large/", str(place / f"large-out-{turn}"))
        rss += [up["rss"], down["rss"]]
        other_up = run(environment, "obstore_up", str(source), f"large-{turn}/")
        other_down = run(
            environment, "obstore_down", f"large-{turn}/", str(place / f"large-other-{turn}")
        )
        for name, took in (("up", up), ("down", down), ("oup", other_up), ("odown", other_down)):
            rates.setdefault(name, []).append(total / took["seconds"])
        for made in place.glob("large-o*"):
            shutil.rmtree(made)
    best = {name: max(found) for name, found in rates.items()}
    line("acai to S3", best["up"], "MB/s", best["up"], f"peak {max(rss):.0f} MB of memory")
    line("obstore to S3", best["oup"], "MB/s", best["up"])
    line("acai from S3", best["down"], "MB/s", best["down"])
    line("obstore from S3", best["odown"], "MB/s", best["down"])


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", default="2000,20000")
    parser.add_argument("--large", default="4x256")
    parser.add_argument("--peers", type=Path)
    given = parser.parse_args()
    from servers.seaweed import serve

    place = Path(tempfile.mkdtemp(prefix="acai-bench-"))
    try:
        with serve(place) as seaweed:
            environment = {
                **os.environ,
                **seaweed.environment,
                "AWS_ENDPOINT_URL": seaweed.endpoint,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_REGION": "us-east-1",
                "AWS_ALLOW_HTTP": "true",
            }
            for count in [int(word) for word in given.small.split(",") if word]:
                small(place, count, environment, given.peers, seaweed.url(BUCKET, f"acai{count}"))
            if given.large:
                count, size = (int(word) for word in given.large.split("x"))
                large(place, count, size, environment, seaweed.url(BUCKET, "large"))
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
