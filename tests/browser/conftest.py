"""A real browser on a real server: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import acai
from acai.client.client import Client
from servers.acai_up import RunningServer, acai_up

playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).parents[2]
BUILT = Path(acai.__file__).parent / "dashboard_files" / "index.html"
SCREENSHOTS = ROOT / "build" / "screenshots"
AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()


@dataclass
class Watched:
    """A page with all that went wrong on it; a test that provokes errors says which."""

    page: Any
    base: str
    wrong: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)
        self.page.wait_for_selector("h1")

    def sign_in(self, token: str) -> None:
        self.page.goto(self.base)
        self.page.get_by_label("Token", exact=True).fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_selector("nav")

    def unexpected(self) -> list[str]:
        return [one for one in self.wrong if not any(word in one for word in self.expected)]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("chromium is not installed; scripts/servers.sh installs it")
    if not BUILT.exists():
        pytest.fail("the dashboard is not built; run `make dashboard`")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=binary, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("browser") / "home") as running:
        yield running


def token_of(server: RunningServer) -> str:
    text = (server.home / "credentials.toml").read_text("utf-8")
    found = re.search(r'project = "default"\nuser = .*\ntoken = "(.+)"', text)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def lake(server: RunningServer) -> Client:
    return Client(server.url, token_of(server))


def watched(chromium: Any, base: str, **options: Any) -> Iterator[Watched]:
    with tempfile.TemporaryDirectory():
        context = chromium.new_context(
            reduced_motion="reduce", **{"viewport": {"width": 1440, "height": 900}, **options}
        )
        context.set_default_timeout(15_000)
        found = Watched(page=context.new_page(), base=base)
        page = found.page
        page.on(
            "console", lambda said: said.type == "error" and found.wrong.append(f"log: {said.text}")
        )
        page.on("pageerror", lambda error: found.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: found.wrong.append(f"dialog: {dialog.message}"))
        page.on("requestfailed", lambda request: _failed(found, request))
        page.on(
            "response",
            lambda answer: (
                answer.status >= 400 and found.wrong.append(f"{answer.status} {answer.url}")
            ),
        )
        yield found
        context.close()
        assert found.unexpected() == []


def _failed(found: Watched, request: Any) -> None:
    if "ERR_ABORTED" not in (request.failure or ""):  # left behind by going to another page
        found.wrong.append(f"failed: {request.url} {request.failure}")


@pytest.fixture
def visitor(chromium: Any, server: RunningServer) -> Iterator[Watched]:
    """A page that nobody has signed in on."""
    yield from watched(chromium, server.url)


@pytest.fixture
def user(visitor: Watched, server: RunningServer) -> Watched:
    """A page of the project's admin."""
    visitor.sign_in(token_of(server))
    return visitor
