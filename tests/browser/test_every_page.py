"""Every page, wide and narrow, light and dark, with nothing and with something on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acai.client.client import Client
from servers.acai_up import RunningServer
from servers.browsing import SCREENSHOTS, token_of, watched

SHAPES = [("light", 1440, 900), ("dark", 390, 844)]
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
FULL = {
    "directory": "/data?path=/data/",
    "file": "/data?path=/data/train.csv",
    "set": "/sets/mydata",
    "changes": "/sets/mydata?version=2&tab=changes",
    "recipe": "/sets/mydata?tab=recipe",
    "trace": "/provenance?from=set:mydata:2&direction=back&node=set:mydata:2",
}


@pytest.mark.parametrize(("scheme", "width", "height"), SHAPES, ids=str)
def test_with_nothing(
    chromium: Any, server: RunningServer, scheme: str, width: int, height: int
) -> None:
    _tour(chromium, server, "empty", PAGES, scheme=scheme, size=(width, height))


@pytest.fixture(scope="module")
def filled(server: RunningServer, lake: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    files: Path = tmp_path_factory.mktemp("files")
    for turn in range(2):
        (files / "train.csv").write_text(f"id,label\n1,{turn}\n")
        lake.upload(f"{files}/", "/data/")
        lake.create_file_set("mydata", ["/data/"] if turn == 0 else ["/@mydata", "/data/train.csv"])
    job = lake.run(
        "echo '[ACAI_TAG_NUM] JOB loss:0.5'; mkdir -p out; echo 1 > out/model",
        name="train",
        input="mydata",
        output="model",
        cpu=0.5,
        memory="128MB",
    )
    job.wait()
    return str(job.id)


@pytest.mark.parametrize(("scheme", "width", "height"), SHAPES, ids=str)
def test_with_something(
    chromium: Any, server: RunningServer, filled: str, scheme: str, width: int, height: int
) -> None:
    pages = {**PAGES, **FULL, "job": f"/jobs/{filled}"}
    _tour(chromium, server, "some", pages, scheme=scheme, size=(width, height))


def _tour(
    chromium: Any,
    server: RunningServer,
    amount: str,
    pages: dict[str, str],
    *,
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
            page.locator(".mantine-Skeleton-root, .mantine-Loader-root").first.wait_for(
                state="detached"
            )
            page.screenshot(path=SCREENSHOTS / f"{name}-{amount}-{size[0]}-{scheme}.png")
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found[name] = ["wider than the window"] if wide > 0 else []
            if amount == "some":  # what is shown with nothing is shown there too
                found[name] += browsing.barriers()
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
