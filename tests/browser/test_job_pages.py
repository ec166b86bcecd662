"""Jobs from a page: submitted, watched, filtered, compared, planned under a budget."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acai.client.client import Client
from servers.browsing import Watched

TRAIN = """
import sys, time
epochs, lr = int(sys.argv[1]), float(sys.argv[2])
for epoch in range(epochs):
    print(f"\\x1b[32mepoch\\x1b[0m {epoch} <b>loss</b>", flush=True)
    print(f"[ACAI_TAG_NUM] JOB loss:{1 / (1 + lr * epoch)}", flush=True)
    time.sleep(0.25)
"""
SMALL = {"cpu": 0.5, "memory": "128MB"}


@pytest.fixture(scope="module", autouse=True)
def sweep(lake: Client, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two jobs that end well and one that does not, with the code that they share."""
    code = tmp_path_factory.mktemp("code") / "train.py"
    code.write_text(TRAIN)
    lake.upload({str(code): "/code/train.py"})
    lake.create_file_set("code", ["/code/"])
    jobs = [
        lake.run(
            "python train.py {epochs} {lr}",
            name=f"train-{lr}",
            code="/code/@code",
            args={"epochs": 3, "lr": lr},
            **SMALL,
        )
        for lr in (0.1, 0.5)
    ]
    jobs.append(lake.run("echo no; exit 3", name="breaks", **SMALL))
    for job in jobs:
        job.wait()
    return [job.id for job in jobs]


def test_submit_and_watch_it_to_the_end(user: Watched, lake: Client, tmp_path: Path) -> None:
    page = user.page
    code = tmp_path / "src"
    for name, text in {
        "train.py": TRAIN,
        "lib/a b@1.py": "",
        ".acaiignore": "*.csv",
        "data.csv": "",
        "__pycache__/train.pyc": "",
    }.items():
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text(text)
    user.open("/submit")
    page.get_by_label("Command").fill("python train.py {epochs} {lr}")
    page.get_by_label("Folder to send").set_input_files(code)
    page.get_by_text("src: 2 files").wait_for()
    page.get_by_label("Arguments").fill("epochs=12\nlr=0.2")
    page.get_by_label("Name", exact=True).fill("from-the-page")
    page.get_by_label("CPU").fill("0.5")
    page.get_by_label("Memory").fill("128MB")
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("epoch 1 <b>loss</b>").wait_for()  # while it runs: nothing is reloaded
    assert page.get_by_role("button", name="Kill").count() == 1
    page.get_by_role("tab", name="Curves").click()
    page.get_by_role("img", name="Curve of loss").wait_for()
    page.get_by_role("tab", name="CPU and memory").click()
    with page.expect_request(re.compile(r"/usage\?after=")):  # the server said that there is more
        page.get_by_role("img", name="CPU over time").wait_for()
    page.get_by_role("tab", name="Log").click()
    page.get_by_text("finished", exact=True).wait_for()
    page.get_by_text("24 lines").wait_for()
    assert page.get_by_role("button", name="Kill").count() == 0
    page.get_by_role("tab", name="Time line").click()
    assert page.get_by_role("cell", name="running").count() == 1
    sent = [file.path for file in lake.set_files("from-the-page-code")]
    assert sent == ["/code/from-the-page/lib/a b@1.py", "/code/from-the-page/train.py"]


def test_a_job_is_killed_from_its_page(user: Watched, lake: Client) -> None:
    job = lake.run("sleep 60", **SMALL)
    user.open(f"/jobs/{job.id}")
    user.page.get_by_role("button", name="Kill").click()
    user.page.get_by_text("killed", exact=True).first.wait_for()
    assert lake.job(job.id).status == "killed"


def test_the_history_shows_a_new_job_by_itself(user: Watched, lake: Client) -> None:
    page = user.page
    user.open("/jobs")
    page.get_by_role("link", name="breaks").wait_for()
    lake.run("true", name="just-now", **SMALL)
    page.get_by_role("row", name="just-now").get_by_text("finished").wait_for()


def test_pages_follow_what_others_change(user: Watched, lake: Client, tmp_path: Path) -> None:
    page = user.page
    file = tmp_path / "new.txt"
    file.write_text("new")
    user.open("/data?path=/code/")
    page.get_by_role("link", name="train.py").wait_for()
    lake.upload({str(file): "/code/new.txt"})
    page.get_by_role("link", name="new.txt").wait_for()
    user.go("/sets")
    lake.create_file_set("made-elsewhere", ["/code/new.txt"])
    page.get_by_role("link", name="made-elsewhere:1").click()
    page.get_by_role("tab", name="Metadata").click()
    page.get_by_label("Add a tag").wait_for()
    lake.set_metadata("set:made-elsewhere", {"mood": "good"}, tags=["reviewed"])
    page.get_by_label("Value of mood").wait_for()
    page.get_by_text("reviewed", exact=True).wait_for()


def test_filter_sort_and_columns_stand_in_the_address(
    user: Watched, lake: Client, sweep: list[str]
) -> None:
    page = user.page
    lake.set_metadata(f"job:{sweep[0]}", {"mood": "it's fine"})
    user.open("/jobs?q=status = failed")
    box = page.get_by_role("combobox", name="Filter jobs")
    box.fill("moo")
    page.get_by_role("option", name="mood").click()
    box.press_sequentially("= it")
    page.get_by_role("option", name="it''s fine").click()  # of a job that is not shown
    box.press("Enter")
    page.get_by_role("link", name="train-0.1").wait_for()
    assert page.get_by_role("link", name="breaks").count() == 0
    box.fill("status = failed")
    page.keyboard.press("Escape")
    box.press("Enter")
    page.get_by_role("link", name="train-0.1").wait_for(state="detached")
    assert page.get_by_role("link", name="breaks").count() == 1
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Exit code").click()
    page.keyboard.press("Escape")
    page.get_by_role("columnheader", name="Exit code").wait_for()
    page.get_by_role("button", name="Run time").click()
    page.wait_for_url(re.compile("sort="))
    page.reload()
    page.get_by_role("columnheader", name="Exit code").wait_for()
    assert page.get_by_role("link", name="train-0.1").count() == 0


def test_compare_two_jobs(user: Watched) -> None:
    page = user.page
    user.open("/jobs?q=" + "name ~ '^train-'")
    for name in ("train-0.1", "train-0.5"):
        page.get_by_label(f"Choose {name} to compare").check()
    page.get_by_role("button", name="Compare 2").click()
    row = page.get_by_role("row", name="args.lr")
    row.wait_for()
    assert row.get_by_role("cell").all_inner_texts() in (["0.1", "0.5"], ["0.5", "0.1"])
    assert page.get_by_role("row", name="args.epochs").count() == 0  # it does not differ
    page.get_by_role("tab", name="Curves").click()
    page.get_by_role("img", name="loss of 2 jobs").wait_for()
    page.get_by_role("tab", name="Scatter").click()
    page.locator("main a circle").first.wait_for()
    assert page.locator("main a circle").count() == 2
    page.get_by_role("tab", name="Parallel coordinates").click()
    page.locator("svg polyline").first.wait_for()


def test_run_again_with_changes(user: Watched, sweep: list[str], lake: Client) -> None:
    page = user.page
    user.open(f"/jobs/{sweep[0]}")
    page.get_by_role("link", name="With changes").click()
    page.get_by_label("Arguments").fill("epochs=1\nlr=0.9")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/jobs/job-"))
    page.get_by_text("finished", exact=True).wait_for()
    newest = lake.find_jobs("limit 1")[0]
    assert (newest.args, newest.status) == ({"epochs": 1, "lr": 0.9}, "finished")


def test_a_long_log_and_a_long_line(user: Watched, lake: Client) -> None:
    page = user.page
    many = "seq 100000; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end"
    job = lake.run(many, **SMALL)
    job.wait()
    user.open(f"/jobs/{job.id}")
    page.get_by_text("100,002 lines").wait_for()
    page.get_by_text("the end", exact=True).wait_for()
    page.get_by_text("more characters; download the log").wait_for()
    assert page.locator(".log .line").count() < 200
    page.get_by_label("Search in the log").fill("77777")
    page.get_by_text("1 of 1").wait_for()
    page.keyboard.press("Enter")
    page.locator(".line[data-current]", has_text="77777").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).stat().st_size > 3_500_000


def test_provision_under_a_budget(user: Watched, lake: Client) -> None:
    page = user.page
    lake.profile(
        "waits",
        "sleep 0.{1,3}",
        cpus=[0.5, 1],
        memories=[128],
        wait=True,
    )
    user.open("/provisioning")
    page.get_by_role("link", name="waits").click()
    page.get_by_label("At most, in $").fill("1")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_text("The plan", exact=True).wait_for()
    page.get_by_role("img", name=re.compile("Predicted time over")).wait_for()
    page.get_by_role("button", name="Run it").click()
    page.wait_for_url(re.compile(r"/jobs/job-"))
    page.get_by_role("tab", name="Time line").wait_for()  # the page before shows such words too
    page.get_by_text("finished", exact=True).wait_for()
