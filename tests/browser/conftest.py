"""A real browser on a real server: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acai
from acai.client.client import Client
from servers.acai_up import RunningServer, acai_up
from servers.browsing import FLAGS, Watched, token_of, watched

_BUILT = Path(acai.__file__).parent / "dashboard_files" / "index.html"


@pytest.fixture(scope="module")  # its event loop must end before tests that have their own
def chromium() -> Iterator[Any]:
    driving = pytest.importorskip("playwright.sync_api")
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("chromium is not installed; scripts/servers.sh installs it")
    if not _BUILT.exists():
        pytest.fail("the dashboard is not built; run `make dashboard`")
    with driving.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=binary, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("browser") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def lake(server: RunningServer) -> Client:
    return Client(server.url, token_of(server))


@pytest.fixture
def visitor(chromium: Any, server: RunningServer) -> Iterator[Watched]:
    """A page on which nobody has signed in."""
    with watched(chromium, server.url) as page:
        yield page


@pytest.fixture
def user(visitor: Watched, server: RunningServer) -> Watched:
    """A page of the project's admin."""
    visitor.sign_in(token_of(server))
    return visitor
