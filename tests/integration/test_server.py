"""One server process: it starts, says where it is, stops when asked, and refuses well."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import urllib3
from sqlalchemy import create_engine, text

from acai.model.errors import AcaiError
from acai.server import serve
from acai.settings import load
from acai.stores.records.migrate import HEAD
from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.disks import AS_ROOT, mounted
from servers.shell import Ran, Shell, listing


def up(home: Path, *flags: str) -> Ran:
    """`acai up` where it is expected to fail at once."""
    return Shell(home=home)("up", "--port", "0", "--log-format", "json", *flags)


@pytest.fixture
def root_logger() -> Iterator[None]:
    """A server sets up the process's log; give the test's own back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with acai_up(tmp_path_factory.mktemp("server") / "home") as running:
        yield running


def test_the_first_start_signs_its_user_in(server: RunningServer) -> None:
    who = Shell(home=server.home)("whoami", "--json").json
    assert who["project"] == "default"
    assert who["role"] == "admin"
    assert who["server"] == server.url
    credentials = server.home / "credentials.toml"
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    assert credentials.read_text().count("[[login]]") == 2


def test_what_it_keeps_is_private(server: RunningServer) -> None:
    for name in ("credentials.toml", "server.lock"):
        assert stat.S_IMODE((server.home / name).stat().st_mode) == 0o600
    with closing(sqlite3.connect(server.home / "acai.db")) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_second_server_on_the_same_home_says_where_the_first_is(server: RunningServer) -> None:
    ran = up(server.home)
    said = ran.complaint()
    assert "already running" in said
    assert server.url in said
    assert f"process {server.process.pid}" in said
    assert ran.out == ""
    assert Shell(home=server.home)("whoami").code == 0


def test_a_port_that_is_taken_is_named(server: RunningServer, tmp_path: Path) -> None:
    said = up(tmp_path / "other", "--port", str(server.port)).complaint()
    assert f"port {server.port} on 127.0.0.1 is taken" in said
    assert "--port" in said
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.77"])
def test_an_address_that_is_not_ours_is_named(tmp_path: Path, root_logger: None, host: str) -> None:
    settings = load({"home": str(tmp_path / "home"), "port": "0", "host": host}, {})
    with pytest.raises(AcaiError, match=f"cannot listen on {host}"):
        serve(settings, lambda _ready: pytest.fail("it started"))
    assert not (tmp_path / "home").exists()


def test_it_stops_cleanly_and_starts_again_soon(
    tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    home = tmp_path / "home"
    taken = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        began = time.perf_counter()
        with acai_up(home) as running:
            taken.append(time.perf_counter() - began)
            running.process.send_signal(number)
            assert running.process.wait(timeout=15) == 0
            log = running.log_file.read_text()
            assert "Traceback" not in log
            assert log.splitlines()[-1] == "acai has stopped."
            assert (home / "server.lock").read_text() == ""
    assert (home / "credentials.toml").read_text().count("[[login]]") == 2
    print("ready after", " ".join(f"{seconds:.2f}" for seconds in taken), "s (first: a new home)")
    record_property("ready_seconds", taken)
    assert min(taken[1:]) < 10


def test_a_stop_lets_a_request_end(tmp_path: Path) -> None:
    with (
        acai_up(tmp_path / "home") as running,
        socket.create_connection(("127.0.0.1", running.port)) as peer,
    ):
        token = re.findall(r'token = "(.*)"', (running.home / "credentials.toml").read_text())[0]
        body = json.dumps({"name": "late"}).encode()
        head = f"POST /api/v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        peer.sendall(head.encode() + body[:5])
        time.sleep(0.3)
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        peer.sendall(body[5:])
        peer.settimeout(10)
        assert b"201 Created" in peer.recv(65536)
        assert running.process.wait(timeout=15) == 0


def test_over_a_socket_it_answers_as_it_does_without(server: RunningServer) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        assert pool.request("GET", f"{server.url}/healthz").json() == {"status": "ok"}
        ready = pool.request("GET", f"{server.url}/readyz")
        assert ready.json()["checks"] == {"database": "ok", "objects": "ok"}
        assert "server" not in {name.lower() for name in ready.headers}
        for name in ("%00", "%ff", "..%2f..", "a" * 5000):
            assert pool.request("GET", f"{server.url}/{name}").status == 404
        pieces = (b"x" * 2**20 for _ in range(40))
        token = re.findall(r'token = "(.*)"', (server.home / "credentials.toml").read_text())[0]
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        large = pool.request("POST", f"{server.url}/api/v1/users", body=pieces, headers=headers)
        assert large.status == 413
        assert large.json()["error"]["code"] == "too_large"


def test_the_log_is_json_lines_without_secrets(server: RunningServer) -> None:
    Shell(home=server.home)("user", "create", "logged")
    Shell(home=server.home)("whoami", "--token", "acai_bcdfghjkmnpq_" + "x" * 34)
    text_of_log = server.log_file.read_text()
    lines = [json.loads(line) for line in text_of_log.splitlines()]
    assert {"time", "level", "logger", "message"} <= set(lines[-1])
    assert any(line["message"] == "sign-in failed" for line in lines)
    for token in re.findall(r'token = "(.*)"', (server.home / "credentials.toml").read_text()):
        assert token.rpartition("_")[2] not in text_of_log
    assert "x" * 34 not in text_of_log


def test_the_log_is_for_people_if_asked(tmp_path: Path) -> None:
    human = subprocess.Popen(
        [str(ACAI), "up", "--port", "0", "--log-format", "human"],
        env=clean_environment(tmp_path / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert human.stdout is not None
    assert "A new platform is made in" in human.stdout.readline()
    ready = human.stdout.readline()
    assert "acai is ready at http://127.0.0.1:" in ready
    Shell(home=tmp_path / "home")("whoami")
    human.send_signal(signal.SIGINT)
    _, log = human.communicate(timeout=15)
    assert human.returncode == 0
    assert re.search(r"\d\d:\d\d:\d\d info +GET /api/v1/users/me → 200 .* ms", log)
    assert log.rstrip().endswith("acai has stopped.")


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("precious")
    assert "is a file" in up(file).complaint()
    assert file.read_text() == "precious"
    assert "cannot be used" in up(file / "below").complaint()


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    if AS_ROOT:
        with mounted(tmp_path / "ro", "ro") as home:
            for place in (home, home / "below"):
                assert "cannot be written" in up(place).complaint()
            assert listing(home) == {}
    else:
        home = tmp_path / "ro"
        home.mkdir(mode=0o500)
        assert "cannot be written" in up(home).complaint()
        assert listing(home) == {}


def test_a_home_where_no_directory_can_be(tmp_path: Path) -> None:
    assert "the home /proc/acai" in up(Path("/proc/acai")).complaint()


@pytest.mark.parametrize("free", [0, 65536])
def test_a_disk_that_is_full(tmp_path: Path, free: int) -> None:
    with mounted(tmp_path / "small") as disk:
        filler = disk / "filler"
        with filler.open("wb") as out:
            out.write(b"x" * (2**20 - 64 * 1024 - free))
            while True:
                try:
                    out.write(b"x" * 4096)
                    out.flush()
                    room = os.statvfs(disk)
                    if room.f_bavail * room.f_frsize <= free:
                        break
                except OSError:
                    break
        said = up(disk / "home").complaint()
        assert "full" in said
        filler.unlink()
        with acai_up(disk / "home") as running:
            assert Shell(home=running.home)("whoami").code == 0


def test_a_disk_that_fills_up_while_it_runs(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=3m") as disk, acai_up(disk / "home") as running:
        shell = Shell(home=running.home)
        filler = disk / "filler"
        with pytest.raises(OSError), filler.open("wb", buffering=0) as out:
            while True:
                out.write(b"x" * 4096)
        failures = 0
        for number in range(40):
            ran = shell("user", "create", f"user-{number}", "--json")
            if ran.code:
                assert ran.json["error"]["code"] == "storage_full", ran
                failures += 1
                break
        assert failures
        assert shell("whoami").code == 0
        filler.unlink()
        assert shell("user", "create", "after").code == 0


def test_a_schema_of_the_future(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with acai_up(home):
        pass
    with closing(sqlite3.connect(home / "acai.db")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    before = listing(home)
    said = up(home).complaint()
    assert f"schema 9999, but this acai knows only up to {HEAD}" in said
    assert "pip install -U acai" in said
    assert listing(home) == before


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgres", "malformed"),
        ("postgresql:/db/acai", "malformed"),
        ("postgresql://db:54x/acai", "malformed"),
        ("postgreql://user:s3cret@db/acai", "unknown database 'postgreql'"),
        ("mysql://user:s3cret@db/acai", "unknown database 'mysql'"),
        ("sqlite://acai.db", "sqlite:///PATH"),
        ("sqlite://", "sqlite:///PATH"),
        ("sqlite:///:memory:", "sqlite:///PATH"),
        ("sqlite:////nowhere/at/all/acai.db", "unable to open"),
        ("sqlite:////etc", "unable to open"),
        ("postgresql://user:s3cret@127.0.0.1:1/acai", "Connection refused"),
        ("postgresql://user:s3cret@no-such-host.invalid/acai", "does not answer"),
        ("postgresql://user:s3cret@127.0.0.1:1/acai?colour=red", "colour"),
        ("postgresql://user:s3cret@127.0.0.1:1/acai?sslmode=maybe", "sslmode"),
    ],
)
def test_a_database_url_with_a_typo(tmp_path: Path, root_logger: None, url: str, says: str) -> None:
    settings = load({"home": str(tmp_path / "home"), "port": "0", "database": url}, {})
    with pytest.raises(AcaiError) as error:
        serve(settings, lambda _ready: pytest.fail("it started"))
    assert says in error.value.message
    assert "\n" not in error.value.message
    assert "s3cret" not in error.value.message
    assert not (tmp_path / "home").exists()


def test_a_typo_is_one_line_and_shows_no_password(tmp_path: Path) -> None:
    url = "postgresql://user:s3cret@127.0.0.1:1/acai"
    ran = up(tmp_path / "home", "--database", url, "--json")
    assert "Connection refused" in ran.complaint()
    assert ran.json["error"]["code"] == "unavailable"
    assert "s3cret" not in ran.err + ran.out
    assert not (tmp_path / "home").exists()


@pytest.fixture
def locked_url(postgres_server: str) -> Iterator[str]:
    """A PostgreSQL user that has to show a password, with a wrong one."""
    admin = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        rules = Path(connection.execute(text("SHOW hba_file")).scalar_one())
        before = rules.read_text()
        rules.write_text("local all locked scram-sha-256\n" + before)
        connection.execute(text("CREATE ROLE locked LOGIN PASSWORD 'right'"))
        connection.execute(text("SELECT pg_reload_conf()"))
    host = postgres_server.partition("host=")[2]
    yield f"postgresql://locked:wr0ng-pa55word@/postgres?host={host}"
    rules.write_text(before)
    with admin.connect() as connection:
        connection.execute(text("DROP ROLE locked"))
        connection.execute(text("SELECT pg_reload_conf()"))
    admin.dispose()


def test_a_wrong_database_password_is_not_repeated(tmp_path: Path, locked_url: str) -> None:
    for command in ("up", "doctor"):
        words = [command, "--database", locked_url, "--debug"]
        ran = Shell(home=tmp_path / "home")(*words, *(["--port", "0"] if command == "up" else []))
        assert ran.code == 1
        assert "password authentication failed" in ran.err + ran.out
        assert "wr0ng-pa55word" not in ran.err + ran.out
    assert not (tmp_path / "home").exists()


def test_ready_turns_to_not_ready_when_the_database_goes(
    tmp_path: Path, postgres_server: str, postgres_url: str
) -> None:
    with (
        acai_up(tmp_path / "home", {"ACAI_DATABASE": postgres_url}) as running,
        urllib3.PoolManager(retries=False) as pool,
    ):
        assert pool.request("GET", f"{running.url}/readyz").status == 200
        name = re.findall(r"/(acai_\w+)\?", postgres_url)[0]
        admin = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
            connection.execute(text(ended), {"name": name})
            answer = pool.request("GET", f"{running.url}/readyz")
            assert answer.status == 503
            assert answer.json() == {
                "ready": False,
                "checks": {"database": "Unavailable", "objects": "ok"},
            }
            ran = Shell(home=running.home)("user", "ls", "--json")
            assert ran.json["error"]["code"] == "unavailable"
            assert pool.request("GET", f"{running.url}/healthz").status == 200
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
        admin.dispose()
        assert pool.request("GET", f"{running.url}/readyz").status == 200
        assert Shell(home=running.home)("whoami").code == 0


def test_two_replicas_serve_the_same_platform(tmp_path: Path, postgres_url: str) -> None:
    shared = {"ACAI_DATABASE": postgres_url, "ACAI_STORAGE": f"file://{tmp_path / 'objects'}"}
    with acai_up(tmp_path / "one", shared) as one, acai_up(tmp_path / "two", shared) as two:
        shell = Shell(home=one.home)
        assert shell("user", "create", "mei", "--server", one.url).code == 0
        token = re.findall(r'token = "(.*)"', (one.home / "credentials.toml").read_text())[0]
        listed = shell("user", "ls", "--server", two.url, "--token", token, "--json").json
        assert "mei" in [user["name"] for user in listed]
        assert not (two.home / "credentials.toml").exists()
