"""How quick the dashboard is, in a real browser on a real server.

    python bench/dashboard/pages.py [--nodes 5000] [--only graph,view,log,line]

A project of so many sets and jobs is written into the database of a server of its own. Headless
Chromium without a GPU then opens the list of jobs as a first visitor does (nothing cached) and
again, draws the whole graph, moves and zooms it, scrolls through a log of 100,000 lines, and opens
a log that holds one line of 50 MB. The limit is the browser itself: an empty page of its own, and
the frames of a page on which nothing moves.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from acai.client.client import Client
from servers.acai_up import RunningServer, acai_up
from servers.browsing import FLAGS, token_of
from servers.crowd import fill

SECONDS = 3.0  # of moving, zooming, scrolling
LINE = 50_000_000
FRAMES = """
() => {
  const frames = [];
  let before = performance.now();
  const next = (now) => {
    frames.push(now - before);
    before = now;
    window.frame = requestAnimationFrame(next);
  };
  window.frame = requestAnimationFrame(next);
  window.frames = frames;
}
"""
# The time from the start of the navigation to the frame on which something is there.
APPEARED = """
([selector, text]) => new Promise((done) => {
  const look = () => {
    const found = [...document.querySelectorAll(selector)];
    if (!found.some((one) => one.textContent.includes(text))) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
  };
  look();
})
"""


class Report:
    def __init__(self) -> None:
        print("| what | result |\n|---|---|")

    def line(self, what: str, result: str) -> None:
        print(f"| {what} | {result} |", flush=True)

    def times(self, what: str, found: list[float]) -> None:
        shown = f"median {statistics.median(found):.2f} s, worst {max(found):.2f} s"
        self.line(what, f"{shown} of {len(found)}")

    def frames(self, what: str, page: Page, act: Callable[[Page], None]) -> None:
        """What a hand does, and how long the frames took meanwhile."""
        page.evaluate(FRAMES)
        act(page)
        found = sorted(page.evaluate("cancelAnimationFrame(window.frame), window.frames"))
        p95 = found[int(len(found) * 0.95)]
        shown = f"median {statistics.median(found):.0f} ms, p95 {p95:.0f}, worst {found[-1]:.0f}"
        self.line(what, f"{shown}, of {len(found)} frames")


def visit(page: Page, url: str, selector: str, text: str = "") -> float:
    """Seconds from the start of a navigation until this is drawn."""
    page.goto(url, wait_until="commit")
    return float(page.evaluate(APPEARED, [selector, text])) / 1000


@contextmanager
def signed_in(browser: Browser, server: RunningServer) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(server.url)
    page.get_by_label("Token", exact=True).fill(token_of(server))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("nav")
    yield page
    context.close()


def first_views(browser: Browser, server: RunningServer, report: Report) -> None:
    empty, cold, warm = [], [], []
    for _ in range(5):
        with signed_in(browser, server) as page:
            state = page.context.storage_state()
        fresh = browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=state)
        page = fresh.new_page()
        empty.append(visit(page, f"{server.url}/healthz", "body"))
        cold.append(visit(page, f"{server.url}/jobs", "td a", "make-"))
        warm.append(visit(page, f"{server.url}/jobs", "td a", "make-"))
        fresh.close()
    report.times("limit: a page of one line", empty)
    report.times("jobs, nothing cached, to rows drawn", cold)
    report.times("jobs again", warm)


def graph(browser: Browser, server: RunningServer, nodes: int, report: Report) -> None:
    times = []
    for _ in range(3):
        with signed_in(browser, server) as page:
            times.append(visit(page, f"{server.url}/provenance", f"[data-nodes='{nodes}']"))
    report.times(f"graph of {nodes:,} nodes, to drawn", times)
    with signed_in(browser, server) as page:
        report.frames("limit: nothing moves", page, lambda page: page.wait_for_timeout(1000))
        visit(page, f"{server.url}/provenance", f"[data-nodes='{nodes}']")
        page.wait_for_timeout(1000)
        report.frames("moving all of it", page, drag)
        report.frames("zooming in and out", page, zoom)
        page.mouse.wheel(0, -1600)
        page.wait_for_timeout(500)
        report.frames("moving it, near, with names", page, drag)
        report.frames("pointing at nodes", page, point)


def drag(page: Page) -> None:
    page.mouse.move(500, 450)
    page.mouse.down()
    until = time.monotonic() + SECONDS
    step = 0
    while time.monotonic() < until:
        step += 1
        page.mouse.move(500 + 300 * ((step // 40 % 2) or -1) * (step % 40) / 40, 450 + step % 90)
    page.mouse.up()


def zoom(page: Page) -> None:
    page.mouse.move(500, 450)
    until = time.monotonic() + SECONDS
    step = 0
    while time.monotonic() < until:
        page.mouse.wheel(0, -100 if step // 15 % 2 == 0 else 100)
        step += 1
        page.wait_for_timeout(16)


def point(page: Page) -> None:
    for step in range(100):
        page.mouse.move(300 + 6 * step, 300 + 3 * step)


def long_log(browser: Browser, server: RunningServer, lake: Client, report: Report) -> None:
    job = lake.run("seq 100000", cpu=0.5, memory="128MB")
    job.wait()
    with signed_in(browser, server) as page:
        shown = visit(page, f"{server.url}/jobs/{job.id}", "main", "100,000 lines")
        report.line("log of 100,000 lines, to shown", f"{shown:.2f} s")
        page.get_by_role("log").hover()
        report.frames("scrolling it", page, scroll)
        began = time.perf_counter()
        page.get_by_label("Search in the log").fill("77777")
        page.get_by_text("1 of 1").wait_for()
        report.line("searching it", f"{time.perf_counter() - began:.2f} s")


def scroll(page: Page) -> None:
    until = time.monotonic() + SECONDS
    step = 0
    while time.monotonic() < until:
        page.mouse.wheel(0, -5000 if step // 60 % 2 == 0 else 5000)
        step += 1
        page.wait_for_timeout(16)


def long_line(browser: Browser, server: RunningServer, lake: Client, report: Report) -> None:
    command = f"echo before; head -c {LINE} /dev/zero | tr '\\0' x; echo; echo after"
    job = lake.run(command, cpu=0.5, memory="128MB")
    job.wait()
    with signed_in(browser, server) as page:
        shown = visit(page, f"{server.url}/jobs/{job.id}", ".log .line", "after")
        report.line(f"log with a line of {LINE // 1_000_000} MB, to shown", f"{shown:.2f} s")
        began = time.perf_counter()
        page.get_by_label("Search in the log").fill("before")
        page.get_by_text("1 of 1").wait_for()
        report.line("searching it", f"{time.perf_counter() - began:.2f} s")
        report.frames("scrolling it", page, scroll)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--only", default="view,graph,log,line")
    given = parser.parse_args()
    wanted = given.only.split(",")
    with tempfile.TemporaryDirectory(prefix="acai-bench-") as directory:
        home = Path(directory) / "home"
        with acai_up(home) as server, sync_playwright() as driver:
            edges = fill(home, token_of(server), given.nodes)
            lake = Client(server.url, token_of(server))
            browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            print(f"{browser.browser_type.name} {browser.version}; {edges:,} edges between sets\n")
            report = Report()
            acts: dict[str, Callable[[], Any]] = {
                "view": lambda: first_views(browser, server, report),
                "graph": lambda: graph(browser, server, given.nodes, report),
                "log": lambda: long_log(browser, server, lake, report),
                "line": lambda: long_line(browser, server, lake, report),
            }
            for name in wanted:
                acts[name]()
            browser.close()


if __name__ == "__main__":
    main()
