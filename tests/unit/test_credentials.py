"""Logins on disk, and how a command finds its server, its token and its project."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from acai.client.credentials import (
    DEFAULT_SERVER,
    LOCAL,
    Credentials,
    Login,
    discover,
    normal_server,
)
from acai.model.errors import InvalidInput, InvalidSetting


def login(server: str = LOCAL, project: str = "default", token: str = "t1") -> Login:
    return Login(server=server, project=project, user="dana", token=token)


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"ACAI_HOME": str(home), **more}


def announce(home: Path, url: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "server.lock").write_text(
        json.dumps({"url": "https://public.example", "local": url, "pid": 1})
    )


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    odd = Login(server="http://h:1", project='q"uo\\te', user="ünï\tcode", token="t#]='")
    saved = Credentials(logins=(login(), odd))
    saved.save(tmp_path / "new" / "home")
    assert Credentials.load(tmp_path / "new" / "home") == saved


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_nobody_else_can_read_it(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        Credentials(logins=(login(),)).save(tmp_path / "home")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "home" / "credentials.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["credentials.toml"]


def test_saving_closes_a_file_that_was_open_to_all(tmp_path: Path) -> None:
    for name in ("credentials.toml", f"credentials.toml.{os.getpid()}.tmp"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o666)
    Credentials(logins=(login(),)).save(tmp_path)
    assert stat.S_IMODE((tmp_path / "credentials.toml").stat().st_mode) == 0o600


def test_no_token_in_a_repr() -> None:
    assert "t1" not in repr(login())
    assert "t1" not in repr(Credentials(logins=(login(),)))
    assert "t1" not in repr(discover(token="t1", environ={}))


@pytest.mark.parametrize(
    "text", ["[[login]]\nserver = 'x'\n", "login = 5\n", "not toml", "[[login]]\n", "login = ['a']"]
)
def test_a_damaged_file_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "credentials.toml").write_text(text)
    with pytest.raises(InvalidSetting, match="damaged"):
        Credentials.load(tmp_path)


def test_a_new_login_replaces_the_old_one_of_its_project() -> None:
    one = Credentials().with_login(login(token="a")).with_login(login(project="p2", token="b"))
    two = one.with_login(login(token="c"))
    assert [(each.project, each.token) for each in two.logins] == [("default", "c"), ("p2", "b")]
    three = two.with_login(login(project="p2", token="d"), current=True)
    assert three.logins[0].token == "d"


def test_flag_beats_variable_beats_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[client]\nserver = 'http://file:1'\nproject = 'file'\n")
    Credentials(logins=(login("http://file:1", "file", "stored"),)).save(tmp_path)
    by_file = discover(environ=environ(tmp_path))
    assert (by_file.server, by_file.project, by_file.token) == ("http://file:1", "file", "stored")
    variables = environ(tmp_path, ACAI_SERVER="http://v:2", ACAI_TOKEN=" vt\n", ACAI_PROJECT="vp")
    by_variable = discover(environ=variables)
    assert (by_variable.server, by_variable.project) == ("http://v:2", "vp")
    assert by_variable.token == "vt"
    by_flag = discover(server="http://f:3", token="ft", project="fp", environ=variables)
    assert (by_flag.server, by_flag.project, by_flag.token) == ("http://f:3", "fp", "ft")


def test_a_stored_token_goes_to_its_own_server_only(tmp_path: Path) -> None:
    Credentials(logins=(login("http://mine:1"),)).save(tmp_path)
    assert discover(server="http://evil:1", environ=environ(tmp_path)).token is None
    assert discover(server="http://mine:1/", environ=environ(tmp_path)).token == "t1"
    assert discover(server="https://mine:1", environ=environ(tmp_path)).token is None


def test_the_local_server_is_found_on_whatever_port_it_has_today(tmp_path: Path) -> None:
    Credentials(logins=(login(),)).save(tmp_path)
    assert discover(environ=environ(tmp_path)).server == DEFAULT_SERVER
    announce(tmp_path, "http://127.0.0.1:4242")
    found = discover(environ=environ(tmp_path))
    assert (found.server, found.token) == ("http://127.0.0.1:4242", "t1")
    named = discover(server="127.0.0.1:4242", environ=environ(tmp_path))
    assert named.token == "t1"


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '{"pid": 1}'])
def test_a_broken_announcement_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.lock").write_text(text)
    assert discover(environ=environ(tmp_path)).server == DEFAULT_SERVER


def test_the_login_of_the_named_project_is_used(tmp_path: Path) -> None:
    logins = (login(project="", token="admin"), login(token="d"), login(project="p2", token="2"))
    Credentials(logins=logins).save(tmp_path)
    home = environ(tmp_path)
    assert discover(environ=home).token == "d"
    assert discover(project="p2", environ=home).token == "2"
    assert discover(project="unknown", environ=home).token == "admin"  # may act in any
    assert discover(as_global_admin=True, environ=home).token == "admin"
    Credentials(logins=logins[1:]).save(tmp_path)
    assert discover(project="unknown", environ=home).token == "d"
    assert discover(as_global_admin=True, environ=home).token == "d"


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ("host", "https://host"),
        ("host:80/", "https://host:80"),
        ("localhost:80/", "http://localhost:80"),
        ("127.0.0.1:7650", "http://127.0.0.1:7650"),
        ("[::1]:7650", "http://[::1]:7650"),
        ("localhost.evil.example", "https://localhost.evil.example"),
        ("127.evil.example", "https://127.evil.example"),
        ("http://host:80", "http://host:80"),
        ("https://h/acai/", "https://h/acai"),
        ("http://[::1]:7650", "http://[::1]:7650"),
    ],
)
def test_addresses_are_made_whole(given: str, whole: str) -> None:
    assert normal_server(given) == whole


@pytest.mark.parametrize(
    "given", ["", "http://", "ftp://h", "a b", "http://h\n", "h\x7f", "\udcff", "///"]
)
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(InvalidInput, match="http://HOST:PORT"):
        normal_server(given)


def test_a_broken_config_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("client = 5\n")
    with pytest.raises(InvalidSetting, match="must be a table"):
        discover(environ=environ(tmp_path))
