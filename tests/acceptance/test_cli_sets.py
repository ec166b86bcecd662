"""`acai set`, `acai trace` and `acai graph` as people run them."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.shell import Shell


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("sets") / "home") as server:
        _prepare(Shell(home=server.home), tmp_path_factory.mktemp("local"))
        yield server


def _prepare(acai: Shell, local: Path) -> None:
    """HotpotQA:1 → HotpotQA:2 → MergedQA:1 ← ColdpotQA:1, and files of odd names."""
    for name in ("train.json", "dev.json", "odd@5%:12"):
        (local / name).write_text(name)
    done = acai("file", "put", str(local), "/data/")
    assert done.code == 0, done.err
    for words in (
        ("HotpotQA", "/data/"),
        ("ColdpotQA", "/data/dev.json"),
    ):
        assert acai("set", "create", *words).code == 0
    (local / "train.json").write_text("a second version")
    assert acai("file", "put", f"{local}/train.json", "/data/train.json").code == 0
    made = acai("set", "create", "HotpotQA", "@HotpotQA", "/data/train.json")
    assert made.out == "Set HotpotQA:2 is made: 3 files, 33 B.\n", made
    assert acai("set", "create", "MergedQA", "@HotpotQA", "/@ColdpotQA:1").code == 0


@pytest.fixture
def acai(running: RunningServer) -> Shell:
    return Shell(home=running.home)


def test_listing_sets_and_versions(acai: Shell) -> None:
    lines = acai("set", "ls").out.splitlines()
    assert lines[0].split() == ["SET", "FILES", "SIZE", "CREATOR", "CREATED"]
    assert [line.split()[0] for line in lines[1:]] == ["ColdpotQA:1", "HotpotQA:2", "MergedQA:1"]
    listed = acai("set", "ls", "HotpotQA", "--json").json
    assert [(one["version"], one["file_count"], one["size"]) for one in listed] == [
        (2, 3, 33),
        (1, 3, 27),
    ]
    assert listed[0]["id"] == "set:HotpotQA:2"
    assert acai("set", "ls", "Hotpot").complaint() == (
        "there is no set Hotpot; did you mean HotpotQA?"
    )


def test_showing_a_set(acai: Shell) -> None:
    shown = acai("set", "show", "MergedQA").out
    assert re.search(
        r"^made of +HotpotQA:2, ColdpotQA:1$|^made of +ColdpotQA:1, HotpotQA:2$", shown, re.M
    )
    assert "/data/odd%405%25%3A12" in shown
    document = acai("set", "show", "HotpotQA:1", "--files", "--json").json
    assert (document["name"], document["version"], document["sources"]) == ("HotpotQA", 1, [])
    assert [one["path"] for one in document["files"]] == [
        "/data/dev.json",
        "/data/odd@5%:12",
        "/data/train.json",
    ]
    assert "versions 1 to 2" in acai("set", "show", "HotpotQA:9").complaint()


def test_comparing_sets(acai: Shell) -> None:
    shown = acai("set", "diff", "HotpotQA:1", "HotpotQA:2").out.splitlines()
    assert shown == [
        "~ /data/train.json  version 1 → 2, 10 B → 16 B",
        "0 added, 0 removed, 1 changed from HotpotQA:1 to HotpotQA:2",
    ]
    shown = acai("set", "diff", "HotpotQA", "ColdpotQA").out.splitlines()
    assert shown[:2] == ["- /data/odd%405%25%3A12:1  9 B", "- /data/train.json:2  16 B"]
    document = acai("set", "diff", "ColdpotQA", "HotpotQA", "--json").json
    assert (document["added"], document["removed"], document["changed"]) == (2, 0, 0)
    assert [one["change"] for one in document["changes"]] == ["added", "added"]
    counted = acai("set", "diff", "ColdpotQA", "HotpotQA", "--summary", "--json").json
    assert "changes" not in counted


def test_conflicting_sets(acai: Shell) -> None:
    refused = acai("set", "create", "Both", "@HotpotQA:1", "@HotpotQA:2")
    assert refused.complaint() == (
        "/data/train.json is version 1 in HotpotQA:1 but version 2 in HotpotQA:2; name the one"
        " you want after them, such as '/data/train.json:2', or add `--prefer last`"
    )
    refused = acai("set", "create", "Both", "@HotpotQA:1", "@HotpotQA:2", "--json")
    assert refused.json["error"]["code"] == "path_conflict"
    assert refused.json["error"]["detail"]["versions"] == [1, 2]
    assert acai("set", "show", "Both").complaint().startswith("there is no set Both")
    words = ("set", "create", "Both", "@HotpotQA:1", "@HotpotQA:2", "--prefer", "last")
    assert acai(*words, "--json").json["size"] == 33
    assert acai("set", "rm", "Both", "-y").code == 0


def test_usage(acai: Shell) -> None:
    assert acai("set", "create", "X").code == 2
    assert acai("set", "create", "X", "@HotpotQA", "--prefer", "first").code == 2
    assert "or '@HotpotQA'" in acai("set", "create", "X", "HotpotQA").complaint()
    assert "set name" in acai("set", "create", "a/b", "/data/").complaint()
    assert acai("trace", "HotpotQA", "--depth", "0").code == 2
    assert acai("graph", "--format", "dot", "--json").code == 2


def test_removing_a_set(acai: Shell) -> None:
    for _ in range(2):
        acai("set", "create", "Gone", "@ColdpotQA")
    assert "add -y" in acai("set", "rm", "Gone").complaint(2)
    assert acai("set", "rm", "Gone:2", "-y").out == "Removed from listings: Gone:2.\n"
    assert acai("set", "show", "Gone", "--json").json["version"] == 1
    assert [one["version"] for one in acai("set", "rm", "Gone", "-y", "--json").json] == [1]
    assert "Gone" not in acai("set", "ls").out
    assert "its versions are kept" in acai("set", "show", "Gone").complaint()
    assert acai("set", "show", "Gone:1", "--json").json["removed"]
    assert "Gone:1  " in acai("trace", "ColdpotQA", "--forward").out
    assert acai("set", "create", "Gone", "@ColdpotQA", "--json").json["version"] == 3
    acai("set", "rm", "Gone", "-y")


def test_a_terminal_is_asked_before_a_set_is_removed(acai: Shell) -> None:
    acai("set", "create", "Asked", "@ColdpotQA")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(ACAI), "set", "rm", "Asked"],
        env=clean_environment(acai.home),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    asked = b""
    while b"]:" not in asked and select.select([leader], [], [], 20)[0]:
        asked += os.read(leader, 1000)
    assert b"Remove all versions of set Asked from listings?" in asked
    os.write(leader, b"n\n")
    assert process.wait(timeout=20) == 130
    os.close(leader)
    assert acai("set", "show", "Asked").code == 0
    acai("set", "rm", "Asked", "-y")


def test_drawing_where_a_set_comes_from(acai: Shell) -> None:
    lines = acai("trace", "MergedQA").out.splitlines()
    bare = [re.sub(r"(?<=\d)  .*", "", line) for line in lines]
    assert bare == [
        "MergedQA:1",
        "├── ColdpotQA:1",
        "└── HotpotQA:2",
        "    └── HotpotQA:1",
    ]
    assert re.fullmatch(r"└── HotpotQA:2  creation, 3 files, 33 B, \d+ (s|min) ago", lines[2])
    forward = acai("trace", "HotpotQA:1", "--forward", "--depth", "1").out.splitlines()
    assert forward[0].startswith("HotpotQA:1  ")
    assert forward[1][4:].startswith("HotpotQA:2  creation, ")
    assert not any("MergedQA" in line for line in forward)
    document = acai("trace", "MergedQA", "--json").json
    assert document["nodes"][0]["set"]["id"] == "set:MergedQA:1"
    assert {(e["source"], e["target"]) for e in document["edges"]} == {
        ("set:ColdpotQA:1", "set:MergedQA:1"),
        ("set:HotpotQA:2", "set:MergedQA:1"),
        ("set:HotpotQA:1", "set:HotpotQA:2"),
    }


def test_a_set_that_comes_twice_is_followed_once(acai: Shell) -> None:
    acai("set", "create", "Twice", "@MergedQA", "@ColdpotQA")
    drawn = acai("trace", "Twice").out
    assert drawn.count("ColdpotQA:1  creation") == 1
    assert drawn.count("ColdpotQA:1  (see above)") == 1
    acai("set", "rm", "Twice", "-y")


def test_the_graph_in_every_format(acai: Shell) -> None:
    text = acai("graph").out
    assert re.search(r"^HotpotQA:2 .* HotpotQA:1$", text, re.M)
    document = acai("graph", "--json").json
    assert document == acai("graph", "--format", "json").json
    ids = {one["id"] for one in document["nodes"]}
    assert {end for e in document["edges"] for end in (e["source"], e["target"])} <= ids
    dot = acai("graph", "--format", "dot").out
    assert dot.startswith("digraph sets {") and dot.endswith("}\n")
    assert '"HotpotQA:1" -> "HotpotQA:2" [label="creation"];' in dot
    mermaid = acai("graph", "--format", "mermaid").out.splitlines()
    assert mermaid[0] == "flowchart LR"
    names = dict(re.findall(r"(s\d+)\[\"([^<]+)<br/>", "\n".join(mermaid)))
    arrows = re.findall(r"(s\d+) -->\|creation\| (s\d+)", "\n".join(mermaid))
    assert ("HotpotQA:1", "HotpotQA:2") in {(names[a], names[b]) for a, b in arrows}


def test_openlineage_events(acai: Shell) -> None:
    """What the specification of a RunEvent requires, and ids that stay the same."""
    events = acai("graph", "--format", "openlineage").json
    assert events == acai("graph", "--format", "openlineage", "--json").json
    assert len({event["run"]["runId"] for event in events}) == len(events)
    for event in events:
        assert event["eventType"] == "COMPLETE"
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
        UUID(event["run"]["runId"])
        assert event["job"]["namespace"] and event["job"]["name"]
        assert re.match(r"[a-z]+:", event["producer"])
        assert event["schemaURL"].startswith("https://openlineage.io/spec/")
        for dataset in event["inputs"] + event["outputs"]:
            assert dataset["namespace"] and dataset["name"]
            for facet in dataset["facets"].values():
                assert facet["_producer"] and facet["_schemaURL"]
    by_output = {
        (e["outputs"][0]["name"], e["outputs"][0]["facets"]["version"]["datasetVersion"]): e
        for e in events
    }
    merged = by_output["MergedQA", "1"]
    assert {one["name"] for one in merged["inputs"]} == {"HotpotQA", "ColdpotQA"}
