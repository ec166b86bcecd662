"""Files, sets and where they came from, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from acai.client.client import Client
from servers.acai_up import RunningServer
from servers.browsing import Watched
from servers.shell import Shell

EVIL = "<img src=x onerror=alert(1)>.txt"


@pytest.fixture(scope="module", autouse=True)
def family(lake: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    """raw → clean → model, and other beside them."""
    files = tmp_path_factory.mktemp("files")
    (files / "train.csv").write_text('id,text\n1,"a, b"\n2,<b>bold</b>\n')
    (files / EVIL).write_text("<script>alert(2)</script>")
    lake.upload(f"{files}/", "/data/")
    lake.create_file_set("raw", ["/data/"])
    lake.create_file_set("clean", ["/@raw"])
    lake.create_file_set("model", ["/data/train.csv@clean"])
    lake.create_file_set("other", ["/data/train.csv"])
    lake.set_metadata("set:model:1", {"note": "<script>alert(3)</script>", "precision": 0.7})


def test_upload_and_preview(user: Watched, lake: Client, tmp_path: Path) -> None:
    page = user.page
    user.open("/data?path=/data/")
    one, two = tmp_path / "one.json", tmp_path / "two.txt"
    one.write_text('{"a": [1, 2]}')
    two.write_text("hello\n" * 1000)
    page.locator("input[type=file]").set_input_files([str(one), str(two)])
    page.get_by_text("2 files uploaded").wait_for()
    page.get_by_role("link", name="one.json").click()
    page.get_by_label("Content").wait_for()
    assert '"a": [\n    1,\n    2\n  ]' in page.get_by_label("Content").inner_text()
    assert lake.read_bytes("/data/two.txt:1") == two.read_bytes()


def test_names_and_contents_with_html_are_text(user: Watched) -> None:
    page = user.page
    user.open("/data?path=/data/")
    page.get_by_role("link", name=EVIL).click()
    page.get_by_text("<script>alert(2)</script>").wait_for()
    user.open("/data?path=/data/train.csv")
    page.get_by_role("cell", name="<b>bold</b>").wait_for()
    assert page.get_by_role("cell", name="a, b").count() == 1
    user.open("/sets/model?tab=metadata")
    assert page.get_by_label("Value of note").input_value() == "<script>alert(3)</script>"


def test_a_wrong_query_is_shown_at_its_place(user: Watched) -> None:
    user.expected = ("422",)
    page = user.page
    user.open("/sets")
    box = page.get_by_role("combobox", name="Find sets")
    box.fill("precision > > 0.5")
    page.keyboard.press("Escape")
    box.press("Enter")
    page.locator(".caret mark").wait_for()
    assert page.locator(".caret").inner_text().startswith("precision > >")
    box.fill("precision > 0.5")
    page.keyboard.press("Escape")
    box.press("Enter")
    page.get_by_role("link", name="raw:1").wait_for(state="detached")
    page.get_by_role("link", name="model:1").wait_for()


def test_tracing_and_the_recipe(user: Watched) -> None:
    page = user.page
    user.open("/provenance")
    page.locator("[data-nodes='4']").wait_for()
    find = page.get_by_role("combobox", name="Find a node by name or query")
    find.fill("model:1")
    page.get_by_role("option", name="model:1").click()
    page.get_by_role("button", name="Trace back").click()
    page.locator("[data-nodes='2']").wait_for()
    page.get_by_role("button", name="One step further").click()
    page.locator("[data-nodes='3']").wait_for()
    page.get_by_role("link", name="How was this made?").click()
    page.get_by_role("listitem").last.wait_for()
    steps = page.get_by_role("listitem").all_inner_texts()
    assert [step.split(" ")[0] for step in steps] == ["raw:1", "clean:1", "model:1"]
    assert "made of clean:1" in steps[-1]


# Where on the graph's canvas the pointer finds a node; none is where it does not.
FIND_NODE = """
() => {
  const canvas = document.querySelector(".graph canvas");
  const box = canvas.getBoundingClientRect();
  for (let y = box.top + 5; y < box.bottom; y += 8) {
    for (let x = box.left + 5; x < box.right; x += 8) {
      const at = { clientX: x, clientY: y, pointerType: "mouse" };
      canvas.dispatchEvent(new PointerEvent("pointermove", at));
      if (canvas.style.cursor === "pointer") return [x, y];
    }
  }
  return null;
}
"""


def test_the_graph_is_pointed_at_moved_and_saved(user: Watched) -> None:
    page = user.page
    user.open("/provenance")
    page.locator("[data-nodes='4']").wait_for()
    x, y = page.evaluate(FIND_NODE)
    page.mouse.move(x, y)
    page.get_by_text("file_count").first.wait_for()  # what is known of it, beside the pointer
    page.mouse.click(x, y)
    page.get_by_role("button", name="Trace back").wait_for()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y + 40, steps=3)
    page.mouse.up()
    assert page.evaluate(FIND_NODE) == [pytest.approx(x + 90, abs=8), pytest.approx(y + 40, abs=8)]
    page.get_by_role("group", name="Graph").press("ArrowDown")
    assert page.evaluate(FIND_NODE)[1] == pytest.approx(y - 20, abs=8)
    page.get_by_label("Fit to view").click()
    with page.expect_download() as download:
        page.get_by_label("Save as picture").click()
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_a_path_between_two_sets(user: Watched) -> None:
    page = user.page
    user.open("/provenance?node=set:raw:1&one=set:raw:1&other=set:model:1")
    page.get_by_text("All ways between raw:1 and model:1").wait_for()
    user.open("/provenance?one=set:raw:1&other=set:other:1")
    page.get_by_text("No way leads between raw:1 and other:1").wait_for()


def test_a_tag_edited_here_is_seen_in_the_command_line(
    user: Watched, server: RunningServer
) -> None:
    page = user.page
    user.open("/provenance?node=set:clean:1")
    page.get_by_label("Add a tag", exact=True).fill("reviewed")
    page.keyboard.press("Enter")
    page.get_by_label("Remove tag reviewed").wait_for()
    page.get_by_label("New key", exact=True).fill("quality")
    page.get_by_label("Value of the new key").fill("0.9")
    page.keyboard.press("Enter")
    page.get_by_label("Value of quality").wait_for()
    seen = Shell(home=server.home)("meta", "get", "set:clean:1", "--json").json
    assert seen["tags"] == ["reviewed"]
    assert seen["meta"]["quality"] == 0.9
    page.get_by_label("Remove tag reviewed").click()
    page.get_by_label("Remove tag reviewed").wait_for(state="detached")
    assert Shell(home=server.home)("meta", "get", "set:clean:1", "--json").json["tags"] == []
