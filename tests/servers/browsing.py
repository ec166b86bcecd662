"""A page in a real browser that remembers all that went wrong on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from servers.acai_up import RunningServer

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
FLAGS = [  # of Chromium, which may run as root in a container here
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_SETTLE = """
new Promise((done) => {
  let quiet = 0;
  const look = () => {
    const waiting = document.querySelector(".mantine-Skeleton-root, .mantine-Loader-root");
    quiet = waiting || !document.querySelector("main[aria-busy=false]") ? 0 : quiet + 1;
    if (quiet > 5) done();
    else requestAnimationFrame(look);
  };
  look();
})
"""
_AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Watched:
    """A test that provokes errors names words of them in `expected`."""

    page: Any
    base: str
    wrong: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)
        self.page.wait_for_selector("h1")

    def go(self, path: str) -> None:
        """To another page as a link would lead, without loading everything anew."""
        self.page.evaluate(
            "path => { history.pushState({}, '', path);"
            " dispatchEvent(new PopStateEvent('popstate')) }",
            path,
        )
        self.page.wait_for_function(
            "path => document.querySelector('main[aria-busy=false]')?.dataset.path === path",
            arg=path,
        )
        self.page.wait_for_selector("h1")

    def settle(self) -> None:
        """Wait until nothing on the page is a place holder, a few frames long."""
        self.page.evaluate(_SETTLE)

    def sign_in(self, token: str) -> None:
        self.page.goto(self.base)
        self.page.get_by_label("Token", exact=True).fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_selector("nav")

    def unexpected(self) -> list[str]:
        return [one for one in self.wrong if not any(word in one for word in self.expected)]

    def barriers(self) -> list[str]:
        """What keeps people with a screen reader or a keyboard out: axe's serious findings."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_AXE.read_text("utf-8"))
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@contextmanager
def watched(browser: Any, base: str, **options: Any) -> Iterator[Watched]:
    """A page in a context of its own; it must end with nothing unexpected on it."""
    shape = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **options}
    context = browser.new_context(**shape)
    context.set_default_timeout(20_000)
    found = Watched(page=context.new_page(), base=base)

    def note(text: str) -> None:
        found.wrong.append(text)

    page = found.page
    page.on("console", lambda said: said.type == "error" and note(f"console: {said.text}"))
    page.on("pageerror", lambda error: note(f"error: {error}"))
    page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("response", lambda reply: reply.status >= 400 and note(f"{reply.status} {reply.url}"))
    page.on("requestfailed", lambda request: _left(request) or note(f"failed: {request.url}"))
    try:
        yield found
    finally:
        context.close()
    wrong = found.unexpected()
    assert not wrong, "\n".join(wrong)


def _left(request: Any) -> bool:
    """Whether the browser itself dropped the request, by going to another page."""
    return "ERR_ABORTED" in (request.failure or "")


def token_of(server: RunningServer) -> str:
    text = (server.home / "credentials.toml").read_text("utf-8")
    found = re.search(r'project = "default"\nuser = .*\ntoken = "(.+)"', text)
    assert found is not None
    return found[1]
