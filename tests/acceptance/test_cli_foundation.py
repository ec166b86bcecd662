"""The foundation as a person meets it: sign in, look around, make people, read errors."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from acai.cli.main import COMMANDS, root, run
from acai.settings import TABLE
from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.disks import make_read_only, mounted
from servers.shell import Ran, Shell, listing

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("cli") / "home") as running:
        yield running


@pytest.fixture
def acai(server: RunningServer) -> Shell:
    return Shell(home=server.home)


@pytest.fixture
def stranger(tmp_path: Path, server: RunningServer) -> Shell:
    """Another machine: a home of its own, with no login in it."""
    return Shell(home=tmp_path / "elsewhere")


def test_a_new_user_joins_works_and_leaves(
    acai: Shell, stranger: Shell, server: RunningServer
) -> None:
    made = acai("user", "create", "mei", "--json").json
    assert made["user"]["project"] == "default"
    signed_in = stranger("login", server.url, stdin=made["token"] + "\n")
    assert signed_in.code == 0
    assert f"Signed in to {server.url} as mei, in project default." in signed_in.out
    stored = stranger.home / "credentials.toml"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    who = stranger("whoami")
    assert re.search(r"user\s+mei\n", who.out)
    assert "only an admin" in stranger("user", "create", "omar").complaint()
    rotated = stranger("token", "rotate", "--json").json
    assert rotated["token"] != made["token"]
    assert stranger("whoami").code == 0
    old = stranger("whoami", "--token", made["token"]).complaint()
    assert "rotated or revoked" in old
    assert "add -y" in acai("user", "rm", "mei").complaint(2)
    assert acai("user", "rm", "mei", "-y").out == "User mei is removed.\n"
    before = listing(stranger.home)
    assert "ask an admin" in stranger("whoami").complaint()
    assert listing(stranger.home) == before


def test_a_project_of_ones_own(acai: Shell) -> None:
    made = acai("project", "create", "vision")
    assert made.code == 0
    token = re.findall(r"shown this once: (\S+)", made.out)[0]
    assert acai("--project", "vision", "whoami", "--json").json["project"] == "vision"
    assert acai("whoami", "--json", ACAI_PROJECT="vision").json["project"] == "vision"
    assert acai("whoami", "--json", ACAI_TOKEN=token).json["project"] == "vision"
    names = [project["name"] for project in acai("project", "ls", "--json").json]
    assert names == ["default", "vision"]
    assert acai("project", "create", "vision").complaint() == (
        "a project named 'vision' exists; choose another name"
    )
    shown = acai("user", "ls", "--project", "vision").out.splitlines()
    assert shown[0].split() == ["NAME", "ROLE", "ID", "CREATED"]
    assert len(shown) == 2


def test_a_token_that_cannot_be_stored_is_still_shown(
    acai: Shell, server: RunningServer, tmp_path: Path
) -> None:
    token = acai("user", "create", "unlucky", "--json").json["token"]
    with mounted(tmp_path / "home") as home:
        shell = Shell(home=home)
        shell("login", server.url, "--token", token)
        make_read_only(home)
        ran = shell("token", "rotate", "--json")
        assert ran.code == 0
        assert ran.err.startswith("warning: it cannot be stored")
        assert acai("whoami", "--token", ran.json["token"], "--json").json["name"] == "unlucky"
        login = shell("login", server.url, "--token", ran.json["token"])
        assert "cannot be stored" in login.complaint()


def test_common_options_go_before_and_after_and_between(acai: Shell) -> None:
    for words in (
        ("--json", "user", "ls"),
        ("user", "--json", "ls"),
        ("user", "ls", "--json"),
        ("--quiet", "user", "ls", "--json", "--project", "default"),
    ):
        assert acai(*words).json[0]["name"], words


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("whoami", "--token", "nonsense"), "unauthenticated"),
        (("whoami", "--token", "two words"), "unauthenticated"),
        (("whoami", "--project", "nowhere"), "project_not_found"),
        (("whoami", "--project", "no/name"), "invalid_input"),
        (("whoami", "--server", "http://127.0.0.1:1"), "server_unreachable"),
        (("whoami", "--server", "http://no-such-host.invalid"), "server_unreachable"),
        (("whoami", "--server", "ftp://x"), "invalid_input"),
        (("user", "create", "a b"), "invalid_input"),
        (("user", "rm", "nobody", "-y"), "user_not_found"),
        (("user", "rm", "nobody"), "usage"),
        (("token", "rotate", "--user", "nobody"), "user_not_found"),
        (("project", "create", "default"), "already_exists"),
        (("login", "127.0.0.1:1", "--token", "x"), "server_unreachable"),
        (("whoami", "--colour"), "usage"),
        (("whoam",), "usage"),
        (("user", "crate", "x"), "usage"),
        (("user", "create"), "usage"),
        (("up", "--port", "x"), "invalid_setting"),
        (("up", "--launcher", "x"), "invalid_setting"),
        (("doctor", "--database", "mysql://x/y"), None),
    ],
)
def test_every_error_is_one_line_and_one_document(
    acai: Shell,
    words: tuple[str, ...],
    code: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACAI_HOME", str(acai.home))
    before = listing(acai.home / "credentials.toml")
    ended = run([*words, "--json"])
    said = capsys.readouterr()
    ran = Ran(code=ended, out=said.out, err=said.err)
    if code is None:  # doctor's answer is its findings
        assert ran.code == 1
        assert isinstance(ran.json, list)
        return
    complaint = ran.complaint(2 if code == "usage" else 1)
    error = ran.json["error"]
    assert error["code"] == code
    assert " ".join(error["message"].split()) == complaint
    assert listing(acai.home / "credentials.toml") == before


def test_a_wrong_word_gets_a_hint(acai: Shell) -> None:
    assert "Did you mean `acai whoami`?" in acai("whoam").complaint(2)
    assert "acai user create --help" in acai("user", "create").complaint(2)
    bare = acai()
    assert bare.code == 2
    assert "Commands:" in bare.err


def test_debug_shows_the_traceback(acai: Shell) -> None:
    ran = acai("whoami", "--token", "nonsense", "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("error: ")


def test_json_answers_are_one_document(acai: Shell) -> None:
    for words in (
        ("whoami",),
        ("user", "ls"),
        ("project", "ls"),
        ("doctor",),
        ("completion", "bash"),
        ("user", "create", "one-document"),
        ("user", "rm", "one-document", "-y"),
        ("token", "rotate"),
    ):
        ran = acai(*words, "--json")
        assert ran.code == 0, (words, ran)
        assert ran.json
        assert ran.err == ""


def test_doctor_is_content_with_a_good_set_up(acai: Shell) -> None:
    ran = acai("doctor")
    assert ran.code == 0
    found = {finding["name"]: finding for finding in acai("doctor", "--json").json}
    assert list(found) == [
        *("python", "home", "disk", "database", "objects"),
        *("launcher", "cgroups", "server", "clock"),
    ]
    healths = {name: finding["health"] for name, finding in found.items()}
    assert {healths[name] for name in ("home", "database", "objects", "server", "clock")} == {"ok"}
    assert "schema" in found["database"]["found"]


def test_doctor_says_how_to_mend_a_bad_one(tmp_path: Path, acai: Shell) -> None:
    file = tmp_path / "file"
    file.write_text("")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "acai.db").write_bytes(b"this is no database " * 100)
    (damaged / "credentials.toml").write_text("")
    (damaged / "credentials.toml").chmod(0o644)
    (damaged / "objects").write_text("a file")
    ran = acai("doctor", "--home", str(file))
    assert ran.code == 1
    assert re.search(r"failed +home +\S+file is a file\n +→ name a directory", ran.out)
    found = {f["name"]: f for f in acai("doctor", "--home", str(damaged), "--json").json}
    assert found["home"]["health"] == "warning"
    assert found["home"]["remedy"].startswith("chmod 600")
    assert found["database"]["health"] == "failed"
    assert found["objects"]["health"] == "failed"
    assert found["server"]["health"] == "warning"
    fresh = acai("doctor", "--home", str(tmp_path / "fresh"), "--json")
    assert fresh.code == 0
    assert not (tmp_path / "fresh").exists()


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*words, name))
    else:
        yield words


EVERY = sorted(leaves(root))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_explains_itself(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: acai {' '.join(words)}" in shown
    example = shown.partition("Example:")[2]
    assert f"acai {' '.join(words)}" in example
    for option in ("--json", "--quiet", "--server", "--token", "--project", "--debug"):
        assert option in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_the_list_of_commands_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, _, does) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(does)}", shown, re.MULTILINE)
    assert run(["--version"]) == 0


def test_up_shows_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for row in TABLE:
        assert row.flag in shown
        assert row.variable in shown


def test_options_may_have_underscores(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "--log_level", "loud", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert "log_level (--log-level)" in error["message"]


def test_asking_for_help_imports_no_server() -> None:
    program = "import sys, acai.cli.main as m; m.run(['--help']); print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    for heavy in ("'fastapi'", "'sqlalchemy'", "'uvicorn'", "'urllib3'"):
        assert heavy not in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("acai pro", "project"), ("acai user c", "create"), ("acai up --log-f", "--log-format")],
)
def test_completion_in_a_real_bash(tmp_path: Path, typed: str, offered: str) -> None:
    words = typed.split()
    script = f"""
eval "$(acai completion bash)"
COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
_acai_completion acai "{words[-1]}" "{words[-2]}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert offered in done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_ACAI_COMPLETE" in capsys.readouterr().out


def on_a_terminal(home: Path, *words: str, **variables: str) -> str:
    leader, follower = pty.openpty()
    environment = clean_environment(home, TERM="xterm", **variables)
    if "NO_COLOR" not in variables:
        environment.pop("NO_COLOR", None)
    subprocess.run(
        [str(ACAI), *words],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        timeout=30,
        check=False,
    )
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    return shown


def test_colour_is_for_terminals_that_want_it(acai: Shell) -> None:
    assert "\x1b[" in on_a_terminal(acai.home, "doctor")
    assert "\x1b[" not in on_a_terminal(acai.home, "doctor", NO_COLOR="1")
    assert "\x1b[" not in acai("doctor").out
    assert "\x1b[" in on_a_terminal(acai.home, "whoami", "--token", "x")
    assert "\x1b[" not in on_a_terminal(acai.home, "whoami", "--token", "x", NO_COLOR="1")


def test_a_reader_that_goes_away_is_no_error(acai: Shell) -> None:
    done = subprocess.run(
        ["bash", "-c", "set -o pipefail; acai up --help | head -1; echo ${PIPESTATUS[0]}"],
        env=clean_environment(acai.home),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.slow
def test_the_wheel_in_an_empty_environment(
    tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """From `pip install` of the wheel to the first answered `acai whoami`."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("acai-*.whl")
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    began = time.perf_counter()
    install = [str(place / "bin" / "pip"), "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, timeout=240)
    installed = time.perf_counter()
    environment = clean_environment(tmp_path / "home")
    program = str(place / "bin" / "acai")
    process = subprocess.Popen(
        [program, "up", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert "new platform" in process.stdout.readline()
        assert "ready" in process.stdout.readline()
        who = subprocess.run(
            [program, "whoami"], env=environment, check=True, capture_output=True, text=True
        )
        answered = time.perf_counter()
        assert "default" in who.stdout
    finally:
        process.terminate()
        assert process.wait(timeout=15) == 0
        if process.stdout is not None:
            process.stdout.close()
    print(
        f"pip install {installed - began:.1f} s;"
        f" from pip install to the first whoami {answered - began:.1f} s"
    )
    record_property("seconds_to_first_whoami", answered - began)
