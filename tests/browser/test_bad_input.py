"""What goes wrong under a user's eyes is told, and what is hostile is shown as text."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from acai.client.client import Client
from servers.acai_up import RunningServer
from servers.browsing import Watched, token_of

EVIL = "<img src=x onerror=alert(1)>"
SMALL = {"cpu": 0.5, "memory": "128MB"}
MB = 1_000_000


def test_a_line_of_50_megabytes(user: Watched, lake: Client, tmp_path: Path) -> None:
    page = user.page
    endless = "echo before; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo after"
    job = lake.run(endless, **SMALL)
    job.wait()
    began = time.monotonic()
    user.open(f"/jobs/{job.id}")
    page.locator(".log .line", has_text="after").wait_for()
    assert time.monotonic() - began < 5  # it was nine seconds when all of it came
    page.get_by_text("1 line is cut after 10,000 characters; download the log").wait_for()
    page.get_by_text("49,990,000 more characters").wait_for()
    page.get_by_label("Search in the log").fill("before")
    page.get_by_text("1 of 1").wait_for()
    assert page.evaluate("document.querySelector('.log').textContent.length") < 20_000
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).stat().st_size == 50 * MB + len("before\n\nafter\n")


def test_a_job_that_is_deleted_meanwhile(
    user: Watched, lake: Client, server: RunningServer
) -> None:
    page = user.page
    job = lake.run("echo '<script>alert(2)</script>'", name="gone", meta={"note": EVIL}, **SMALL)
    job.wait()
    user.open(f"/jobs/{job.id}")
    page.locator(".log .line", has_text="<script>alert(2)</script>").wait_for()
    assert page.get_by_label("Value of note").input_value() == EVIL
    with sqlite3.connect(server.home / "acai.db", timeout=20) as database:
        database.execute("DELETE FROM jobs WHERE public_id = ?", [job.id])
    user.expected = ("404",)
    page.get_by_role("button", name="Run again").click()
    page.get_by_text(f"there is no job {job.id}").first.wait_for()
    page.reload()
    page.get_by_text("Not found").wait_for()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    page.get_by_role("heading", name="Jobs", exact=True).wait_for()
    assert page.get_by_role("link", name="gone", exact=True).count() == 0


def test_an_expired_session_goes_on_where_it_was(user: Watched, server: RunningServer) -> None:
    page = user.page
    user.open("/sets")
    page.context.clear_cookies()  # as a browser does with a cookie whose time is over
    user.expected = ("401",)
    page.get_by_role("link", name="Data").click()
    page.get_by_text("The session has ended").wait_for()
    page.get_by_label("Token", exact=True).fill(token_of(server))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Data", exact=True).wait_for()


def test_a_wrong_address(user: Watched) -> None:
    user.expected = ("404",)
    page = user.page
    for path, said in {
        "/jobs/job-nothing": "there is no job job-nothing",
        "/sets/nothing": "Not found",
        "/data?path=/no/such/file": "Not found",
        "/provenance?from=set:nothing:1": "Not found",
        "/compare?jobs=job-a,job-b": "there is no job",
    }.items():
        user.go(path)
        page.get_by_text(said).first.wait_for()
