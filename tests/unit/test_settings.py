"""The table of settings: where values come from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from acai.model.errors import InvalidSetting
from acai.settings import TABLE, load


def config(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "config.toml").write_text(text)
    return {"ACAI_HOME": str(tmp_path)}


def test_every_default_is_one_that_its_parser_takes() -> None:
    settings = load({}, {})
    assert settings.port == 7650
    assert settings.body_limit == 32 * 2**20
    assert settings.upload_lifetime == 7 * 86400
    assert settings.home == Path("~/.acai").expanduser()
    for row in TABLE:
        assert row.help.endswith(".")


def test_flag_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    environ = config(tmp_path, "[server]\nport = 1\nhost = 'file'\nlog_level = 'error'\n")
    environ |= {"ACAI_PORT": "2", "ACAI_HOST": "variable"}
    settings = load({"port": "3"}, environ)
    assert (settings.port, settings.host, settings.log_level) == (3, "variable", "error")
    assert settings.launcher == "local"


def test_the_home_of_the_flag_decides_which_file_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    config(other, "[server]\nport = 9\n")
    assert load({"home": str(other)}, {"ACAI_HOME": str(tmp_path)}).port == 9


def test_an_empty_variable_counts_as_none() -> None:
    assert load({}, {"ACAI_PORT": ""}).port == 7650


@pytest.mark.parametrize("home", ["with space", "ünïcode", "a#b", "a&b=c+d"])
def test_odd_homes_keep_their_database_and_objects_inside(tmp_path: Path, home: str) -> None:
    from acai.stores.objects.opening import _directory
    from acai.stores.records.database import sqlite_file

    settings = load({"home": str(tmp_path / home)}, {})
    assert sqlite_file(settings.database_url) == tmp_path / home / "acai.db"
    assert _directory(settings.storage_url) == tmp_path / home / "objects"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("port", "http", "not a whole number"),
        ("port", "70000", "65535"),
        ("port", "-1", "65535"),
        ("launcher", "cloud", "local, ray, slurm, kubernetes"),
        ("log_level", "loud", "debug, info"),
        ("body_limit", "much", "64KB"),
        ("url_lifetime", "soon", "15m"),
        ("auth_failures", "0", "1 or more"),
        ("database_connections", "-3", "1 or more"),
        ("home", "/tmp/what?", "'?'"),
        ("home", "/tmp/%41", "'%'"),
        ("home", "~no-such-user-here/x", "not a directory"),
    ],
)
def test_a_wrong_value_is_named_with_its_source(name: str, value: str, says: str) -> None:
    with pytest.raises(InvalidSetting) as by_flag:
        load({name: value}, {})
    assert says in by_flag.value.message
    assert f"{name} (--{name.replace('_', '-')})" in by_flag.value.message
    with pytest.raises(InvalidSetting) as by_variable:
        load({}, {f"ACAI_{name.upper()}": value})
    assert f"ACAI_{name.upper()}" in by_variable.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server]\nprot = 7\n", "'prot'"),
        ("[server]\nhome = '/x'\n", "'home'"),
        ("[server\n", "not valid TOML"),
        ("server = 5\n", "must be a table"),
        ("[server]\ntrusted_proxies = ['a', 'b']\n", "one value"),
        ("[server]\nport = true\n", "not a whole number"),
    ],
)
def test_a_wrong_config_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InvalidSetting, match=r"config\.toml") as error:
        load({}, config(tmp_path, text))
    assert says in error.value.message


def test_a_config_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSetting, match="cannot be read"):
        load({"home": str(tmp_path)}, {})
