"""Who gets in by a browser, how, and until when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acai.client.client import Client
from servers.acai_up import RunningServer, acai_up
from servers.browsing import Watched, token_of, watched


def test_a_wrong_token_then_the_right_one_then_out(visitor: Watched, server: RunningServer) -> None:
    visitor.expected = ("401",)
    page = visitor.page
    page.goto(visitor.base + "/sets")
    page.get_by_label("Token", exact=True).fill("acai_nonsense")
    page.keyboard.press("Enter")
    page.get_by_text("the token is not valid").wait_for()
    page.get_by_label("Token", exact=True).fill(token_of(server))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Sets", exact=True).wait_for()  # where the visitor wanted to
    cookies = page.context.cookies()
    assert [(one["httpOnly"], one["sameSite"]) for one in cookies] == [(True, "Strict")]
    assert token_of(server) not in str(cookies)
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to acai").wait_for()
    assert page.context.cookies() == []


def test_the_printed_link_signs_in_once(chromium: Any, server: RunningServer) -> None:
    assert server.link is not None
    with watched(chromium, server.url) as first:
        first.page.goto(server.link)
        first.page.wait_for_selector("nav")
        assert "link=" not in first.page.url
    with watched(chromium, server.url) as second:
        second.expected = ("401",)
        second.page.goto(server.link)
        second.page.get_by_text("the link has been used").wait_for()


def test_a_session_ends_with_its_token(user: Watched, lake: Client, server: RunningServer) -> None:
    made = lake.create_user("leaving")
    page = user.page
    page.context.clear_cookies()
    user.sign_in(made.token)
    page.get_by_text("No jobs yet").wait_for()
    page.get_by_text("0 running").wait_for()
    user.expected = ("401",)
    lake.remove_user("leaving")
    page.get_by_role("link", name="Sets").click()
    page.get_by_text("The session has ended").wait_for()


def test_a_server_that_goes_away_and_comes_back(chromium: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with acai_up(home) as running, watched(chromium, running.url) as browsing:
        browsing.expected = ("ERR_", "failed: ", "Failed to fetch")
        browsing.sign_in(token_of(running))
        page = browsing.page
        page.get_by_text("No jobs yet").wait_for()
        running.kill()
        page.get_by_role("link", name="Sets").click()
        page.get_by_text("The server does not answer").wait_for()
        with acai_up(home, port=running.port):
            page.get_by_text("No sets yet").wait_for()
            page.get_by_role("link", name="Jobs").click()
            page.get_by_text("No jobs yet").wait_for()
            lake = Client(running.url, token_of(running))
            lake.run("true", name="afterwards", cpu=0.5, memory="128MB")
            page.get_by_role("row", name="afterwards").get_by_text("finished").wait_for()
            assert page.get_by_text("The server does not answer").count() == 0
