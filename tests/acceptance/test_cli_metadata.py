"""`acai meta` and `acai find`, from a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.acai_up import acai_up
from servers.shell import Shell


@pytest.fixture(scope="module")
def acai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    place = tmp_path_factory.mktemp("meta")
    with acai_up(place / "home") as running:
        shell = Shell(home=running.home)
        for name in ("a", "b", "c"):
            (place / f"{name}.csv").write_text(f"x\n{name}\n")
            assert shell("file", "put", str(place / f"{name}.csv"), f"/data/{name}.csv").code == 0
            assert shell("set", "create", name, f"/data/{name}.csv").code == 0
        yield shell


def test_set_find_and_remove(acai: Shell) -> None:
    said = acai("meta", "set", "set:a", "model=BERT", "precision=0.71", "--tag", "x", "--json").json
    assert said["meta"] == {"model": "BERT", "precision": 0.71}
    assert said["tags"] == ["x"]
    acai("meta", "set", "set:b", "model=BERT", "precision=0.41", "when=2026-01-31")
    found = acai("find", "sets", "model = BERT and precision > 0.5", "--json").json
    assert [one["id"] for one in found] == ["set:a:1"]
    best = acai("find", "sets", "model = BERT max precision", "--json").json
    assert [(one["name"], one["meta"]["precision"]) for one in best] == [("a", 0.71)]
    assert [one["name"] for one in acai("find", "sets", "when >= 2026-01-30", "--json").json] == [
        "b"
    ]
    shown = acai("find", "sets", "has precision order by precision desc").out
    assert [line.split()[0] for line in shown.splitlines()] == ["SET", "a:1", "b:1"]
    assert "PRECISION" in shown
    gone = acai("meta", "rm", "set:a", "precision", "--tag", "x", "--json").json
    assert (gone["meta"], gone["tags"]) == ({"model": "BERT"}, [])
    got = acai("meta", "get", "set:a", "--json").json
    assert got["built_in"]["name"] == "a"
    assert got["built_in"]["file_count"] == 1


def test_of_a_file_also_through_a_set(acai: Shell) -> None:
    acai("meta", "set", "file:/data/c.csv@c", "rows=1", "--tag", "clean")
    found = acai("find", "files", "rows = 1 and tag = clean and creator = me", "--json").json
    assert [one["path"] for one in found] == ["/data/c.csv"]
    assert acai("meta", "get", "file:/data/c.csv:1", "--json").json["meta"] == {"rows": 1}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("meta", "set", "set:a", "size=5"), "size"),
        (("meta", "set", "set:a", "1bad=5"), "1bad"),
        (("meta", "set", "set:nope", "k=5"), "no set nope"),
        (("meta", "set", "set:aa", "k=5"), "did you mean a?"),
        (("meta", "set", "set:a:7", "k=5"), "only version 1"),
        (("meta", "set", "job:job-nope", "k=5"), "job-nope"),
        (("meta", "set", "thing:a", "k=5"), "thing"),
        (("meta", "set", "set:a", "baseline"), "--tag baseline"),
        (("meta", "rm", "set:c", "absent"), "absent"),
        (("find", "sets", "status = 1 and"), "column"),
        (("find", "sets", "size > 'abc'"), "column 8"),
    ],
)
def test_what_is_wrong_is_named(acai: Shell, words: tuple[str, ...], part: str) -> None:
    done = acai(*words, "--quiet")
    assert part in done.complaint()


def test_a_wrong_query_shows_where(acai: Shell) -> None:
    done = acai("find", "sets", "precision >")
    lines = done.err.splitlines()
    assert lines[0].endswith("precision >")
    assert lines[1].index("^") - lines[0].index("p") == 11
    assert acai("find", "sets", "precision >", "--json").json["error"]["detail"]["position"] == 11


def test_usage(acai: Shell, tmp_path: Path) -> None:
    assert acai("meta", "set", "set:a").code == 2
    assert acai("find", "sets", "name = nothing-like-it").err.strip() == "nothing matches"
    assert acai("find", "sets", "name = nothing-like-it", "--json").json == []


def test_a_key_that_nothing_has_is_named(acai: Shell) -> None:
    acai("meta", "set", "set:a", "quality=0.9")
    assert acai("find", "sets", "qualty > 0.5 and tag = x").err.splitlines() == [
        "nothing matches",
        "no set has the key qualty; did you mean quality?",
    ]
    assert acai("find", "sets", "job.zzz = 1").err.splitlines()[1:] == [
        "no set has the key job.zzz"
    ]
    assert acai("find", "sets", "quality > 5").err.splitlines() == ["nothing matches"]
