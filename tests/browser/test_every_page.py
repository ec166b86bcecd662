"""Every page, wide and narrow, light and dark, with nothing, something and a lot on it.

Pictures of them are left in `build/screenshots`. With EVERY_SHAPE=1 each page is also taken in
the scheme in which it is not looked through here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from acai.client.client import Client
from acai.client.job_handle import JobHandle
from servers.acai_up import RunningServer
from servers.browsing import SCREENSHOTS, token_of, watched
from servers.crowd import fill

WIDE, NARROW = (1440, 900), (390, 844)
SHAPES = [("light", WIDE), ("dark", NARROW)]
OTHERS = [("dark", WIDE), ("light", NARROW)]
PAGES = {
    "jobs": "/jobs",
    "submit": "/submit",
    "compare": "/compare",
    "data": "/data",
    "sets": "/sets",
    "provenance": "/provenance",
    "provisioning": "/provisioning",
    "users": "/admin",
    "engine": "/admin?tab=engine",
    "quotas": "/admin?tab=quotas",
    "costs": "/admin?tab=costs",
}
SOME = {
    "directory": "/data?path=/data/",
    "file": "/data?path=/data/train.csv",
    "set": "/sets/mydata",
    "changes": "/sets/mydata?version=2&tab=changes",
    "recipe": "/sets/mydata?tab=recipe",
    "trace": "/provenance?from=set:mydata:2&direction=back&node=set:mydata:2",
}
TRAIN = """
for epoch in 1 2 3 4 5 6; do
  printf '\\033[32mepoch %s\\033[0m loss falls\\n' $epoch
  echo "[ACAI_TAG_NUM] JOB loss:0.$((9 - epoch))"
  echo "[ACAI_TAG_NUM] FILESET precision:0.$((3 + epoch))"
done
mkdir -p out; echo 1 > out/model
"""


@pytest.mark.parametrize(("scheme", "size"), SHAPES, ids=str)
def test_with_nothing(
    chromium: Any, server: RunningServer, scheme: str, size: tuple[int, int]
) -> None:
    _tour(chromium, server, "empty", PAGES, scheme, size)


@pytest.fixture(scope="module")
def filled(lake: Client, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    files: Path = tmp_path_factory.mktemp("files")
    for turn in range(2):
        rows = "".join(f"{n},{turn},{n * 0.5},row {n} of <b>{turn}</b>\n" for n in range(40))
        (files / "train.csv").write_text("id,label,weight,text\n" + rows)
        lake.upload(f"{files}/", "/data/")
        lake.create_file_set("mydata", ["/data/"] if turn == 0 else ["/@mydata", "/data/train.csv"])
    jobs = [_train(lake, rate) for rate in (0.1, 0.5)]
    for job in jobs:
        job.wait()
    lake.profile("waits", "sleep 0.{1,2}", cpus=[0.5, 1], memories=[128], wait=True)
    return [job.id for job in jobs]


def _train(lake: Client, rate: float) -> JobHandle:
    return lake.run(
        TRAIN,
        name="train",
        input="mydata",
        output="model",
        args={"rate": rate},
        cpu=0.5,
        memory="128MB",
        tags=["baseline"],
    )


@pytest.mark.parametrize(("scheme", "size"), SHAPES, ids=str)
def test_with_something(
    chromium: Any, server: RunningServer, filled: list[str], scheme: str, size: tuple[int, int]
) -> None:
    pages = {
        **PAGES,
        **SOME,
        "job": f"/jobs/{filled[0]}",
        "compare": f"/compare?jobs={','.join(filled)}",
        "curves": f"/compare?jobs={','.join(filled)}&tab=curves",
        "again": f"/submit?from={filled[0]}",
        "template": "/provisioning/waits",
    }
    _tour(chromium, server, "some", pages, scheme, size)


@pytest.fixture(scope="module")
def crowded(filled: list[str], server: RunningServer, lake: Client, tmp_path_factory: Any) -> None:
    files: Path = tmp_path_factory.mktemp("many")
    for number in range(300):
        (files / f"a file with a rather long name, the {number:03} of them.json").write_text("{}")
    lake.upload(f"{files}/", "/many/")
    lake.create_file_set("many", ["/many/"])
    for name in ("ada", "grace", "a-user-with-a-rather-long-name-indeed"):
        lake.create_user(name)
    fill(server.home, token_of(server), 5000)


@pytest.mark.parametrize(("scheme", "size"), OTHERS, ids=str)
def test_with_a_lot(
    chromium: Any,
    server: RunningServer,
    lake: Client,
    crowded: None,
    scheme: str,
    size: tuple[int, int],
) -> None:
    many = [job.id for job in lake.find_jobs("has loss limit 8")]
    pages = {
        "jobs": "/jobs",
        "directory": "/data?path=/many/",
        "sets": "/sets",
        "set": "/sets/model-mlp-6",
        "changes": "/sets/model-mlp-6?tab=changes",
        "provenance": "/provenance",
        "trace": "/provenance?from=set:model-mlp-6:2&direction=back&depth=3",
        "users": "/admin",
        "costs": "/admin?tab=costs",
        "compare": f"/compare?jobs={','.join(many)}",
    }
    _tour(chromium, server, "lot", pages, scheme, size)


def _tour(
    chromium: Any,
    server: RunningServer,
    amount: str,
    pages: dict[str, str],
    scheme: str,
    size: tuple[int, int],
) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[str]] = {}
    shape = {"viewport": {"width": size[0], "height": size[1]}, "color_scheme": scheme}
    with watched(chromium, server.url, **shape) as browsing:
        browsing.sign_in(token_of(server))
        page = browsing.page
        for name, path in pages.items():
            browsing.go(path)
            if "/jobs/" in path:
                page.get_by_text(re.compile(r"\d lines$")).wait_for()
            browsing.settle()
            page.screenshot(path=SCREENSHOTS / f"{name}-{amount}-{size[0]}-{scheme}.png")
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found[name] = ["wider than the window"] if wide > 0 else []
            if amount == "some":  # what is shown otherwise is shown there too
                found[name] += browsing.barriers()
            if os.environ.get("EVERY_SHAPE"):
                other = "light" if scheme == "dark" else "dark"
                page.emulate_media(color_scheme=other)
                browsing.settle()
                page.screenshot(path=SCREENSHOTS / f"{name}-{amount}-{size[0]}-{other}.png")
                page.emulate_media(color_scheme=scheme)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
