"""What deploy/ and compose.yaml offer works: TLS, replicas, a lost replica, the unit file."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3

from acai import settings
from acai.client.client import Client
from acai.model.errors import ServerUnreachable
from acai.model.ids import Sha256
from acai.stores.objects.opening import open_store
from servers.acai_up import ACAI, RunningServer, acai_up, clean_environment
from servers.seaweed import serve as serve_s3

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
_NEW_CERTIFICATE = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
CLIENT_VARIABLES = {"ACAI_SERVER", "ACAI_TOKEN", "ACAI_PROJECT"}


@dataclass(frozen=True, kw_only=True)
class Proxy:
    url: str
    authority: Path  # the certificate that a client has to trust
    plain_port: int


StartProxy = Callable[[Path, list[int]], Any]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _program(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed here; apt-get install {package}")
    return found


def _replace(text: str, changes: dict[str, str]) -> str:
    """The shipped file with a test's own addresses; every line to change must be there."""
    for old, new in changes.items():
        assert old in text, f"{old!r} is no longer in the file"
        text = text.replace(old, new)
    return text


@contextmanager
def _running(command: list[str], port: int, **options: Any) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        deadline = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        if process.poll() is not None:
            assert process.stderr is not None
            pytest.fail(f"{command[0]} did not start:\n{process.stderr.read()[-2000:]}")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=15)


@contextmanager
def nginx(directory: Path, upstreams: list[int]) -> Iterator[Proxy]:
    """deploy/nginx.conf inside a main file that keeps everything in `directory`."""
    program = _program("nginx", "nginx-light")
    certificate, key = _self_signed(directory)
    port, plain_port = _free_ports(2)
    shipped = (DEPLOY / "nginx.conf").read_text()
    changes = {
        "server 127.0.0.1:7650": f"server 127.0.0.1:{upstreams[0]}",
        "server 127.0.0.1:7651": f"server 127.0.0.1:{upstreams[1]}",
        "listen 80;": f"listen 127.0.0.1:{plain_port};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "acai.example.org": "localhost",
        "/etc/ssl/acai/fullchain.pem": str(certificate),
        "/etc/ssl/acai/privkey.pem": str(key),
    }
    (directory / "acai.conf").write_text(_replace(shipped, changes))
    scratch = "".join(
        f"{name}_temp_path {directory}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = directory / "main.conf"
    main.write_text(
        f"daemon off;\nmaster_process off;\npid {directory}/nginx.pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{scratch}include {directory}/acai.conf;\n}}\n"
    )
    command = [program, "-p", str(directory), "-c", str(main), "-e", "stderr"]
    with _running(command, port):
        yield Proxy(url=f"https://localhost:{port}", authority=certificate, plain_port=plain_port)


def _self_signed(directory: Path) -> tuple[Path, Path]:
    openssl = _program("openssl", "openssl")
    certificate, key = directory / "fullchain.pem", directory / "privkey.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [openssl, *_NEW_CERTIFICATE, *subject, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return certificate, key


@contextmanager
def caddy(directory: Path, upstreams: list[int], s3: int | None = None) -> Iterator[Proxy]:
    """deploy/Caddyfile as it is, below options that keep everything in `directory`."""
    program = _program("caddy", "caddy")
    port, plain_port, s3_port = _free_ports(3)
    main = directory / "Caddyfile"
    main.write_text(
        f"{{\nadmin off\nhttp_port {plain_port}\nskip_install_trust\n"
        f"storage file_system {directory}/store\n}}\nimport {DEPLOY / 'Caddyfile'}\n"
    )
    site = f"localhost:{port if s3 is None else s3_port}"
    environment = clean_environment(
        directory,
        SITE=f"localhost:{port}",
        UPSTREAMS=" ".join(f"127.0.0.1:{each}" for each in upstreams),
        S3_SITE=f"localhost:{s3_port}",
        S3_UPSTREAM=f"127.0.0.1:{s3 or 1}",
        XDG_CONFIG_HOME=str(directory),
    )
    command = [program, "run", "--config", str(main), "--adapter", "caddyfile"]
    with _running(command, port, env=environment, cwd=directory):
        authority = directory / "store/pki/authorities/local/root.crt"
        _wait_for_certificate(authority, port)
        yield Proxy(url=f"https://{site}", authority=authority, plain_port=plain_port)


def _wait_for_certificate(authority: Path, port: int) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            trust = ssl.create_default_context(cafile=authority)
            with socket.create_connection(("localhost", port), timeout=2) as plain:
                trust.wrap_socket(plain, server_hostname="localhost").close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("caddy made no certificate for localhost")


@dataclass(frozen=True, kw_only=True)
class Service:
    """Two replicas on one PostgreSQL and one storage, and a proxy before them."""

    proxy: Proxy
    replicas: tuple[RunningServer, RunningServer]
    token: str

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        return self.request("GET", path, headers=headers)

    def request(self, method: str, path: str, **options: Any) -> urllib3.BaseHTTPResponse:
        headers = {"authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        with urllib3.PoolManager(ca_certs=str(self.proxy.authority), retries=False) as pool:
            return pool.request(method, self.proxy.url + path, headers=headers, **options)


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def service(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Service]:
    start: StartProxy = request.param
    shared = {"ACAI_DATABASE": postgres_url, "ACAI_STORAGE": f"file://{tmp_path / 'objects'}"}
    directory = tmp_path / "proxy"
    directory.mkdir()
    with ExitStack() as stack:
        first = stack.enter_context(acai_up(tmp_path / "one", shared))
        second = stack.enter_context(acai_up(tmp_path / "two", shared))
        proxy = stack.enter_context(start(directory, [first.port, second.port]))
        token = _stored_token(first.home)
        yield Service(proxy=proxy, replicas=(first, second), token=token)


def _stored_token(home: Path) -> str:
    found = re.search(r'token = "(\S+)"', (home / "credentials.toml").read_text())
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_two_replicas_behind_a_proxy(service: Service, tmp_path: Path) -> None:
    _signs_in_over_tls(service, tmp_path)
    _reaches_both(service)
    _token_of_one_works_at_the_other(service)
    _forwards_the_clients_address(service)
    _leaves_limits_to_acai(service)
    _plain_http_is_sent_to_tls(service)
    _survives_the_loss_of_a_replica(service)


def _signs_in_over_tls(service: Service, tmp_path: Path) -> None:
    environment = clean_environment(tmp_path / "client")
    command = [str(ACAI), "login", service.proxy.url, "--token", service.token]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "certificate" in refused.stderr

    environment["SSL_CERT_FILE"] = str(service.proxy.authority)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    whoami = subprocess.run(
        [str(ACAI), "whoami", "--json"], env=environment, check=True, capture_output=True
    )
    seen = json.loads(whoami.stdout)
    assert (seen["project"], seen["server"]) == ("default", service.proxy.url)


def _reaches_both(service: Service) -> None:
    for number in range(10):
        answer = service.get("/api/v1/users/me", **{"x-request-id": f"round-robin-{number}"})
        assert answer.status == 200
    for replica in service.replicas:
        ids = [line.get("request_id", "") for line in replica.log()]
        assert sum(each.startswith("round-robin-") for each in ids) >= 3


def _token_of_one_works_at_the_other(service: Service) -> None:
    first, second = service.replicas
    with Client(first.url, service.token) as client:
        made = client.create_user("mei")
    with Client(second.url, made.token) as client:
        assert client.whoami().name == "mei"
        rotated = client.rotate_token()
    with Client(first.url, rotated.token) as client:
        assert client.whoami().name == "mei"


def _forwards_the_clients_address(service: Service) -> None:
    with urllib3.PoolManager(
        ca_certs=str(service.proxy.authority), retries=False, source_address=("127.0.0.2", 0)
    ) as pool:
        answer = pool.request(
            "GET",
            f"{service.proxy.url}/api/v1/users/me",
            headers={"authorization": "Bearer wrong", "x-forwarded-for": "192.0.2.9"},
        )
    assert answer.status == 401
    lines = [line for replica in service.replicas for line in replica.log()]
    failed = [line["address"] for line in lines if line["message"] == "sign-in failed"]
    assert failed == ["127.0.0.2"]


def _leaves_limits_to_acai(service: Service) -> None:
    answer = service.request("POST", "/api/v1/users", body=b"x" * 2_000_000)
    assert answer.json()["error"]["code"] == "invalid_input"


def _plain_http_is_sent_to_tls(service: Service) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        answer = pool.request(
            "GET", f"http://localhost:{service.proxy.plain_port}/version", redirect=False
        )
    assert answer.status in (301, 308)
    assert answer.headers["location"].startswith("https://localhost")


def _survives_the_loss_of_a_replica(service: Service) -> None:
    service.replicas[1].kill()
    assert [service.get("/api/v1/users/me").status for _ in range(10)] == [200] * 10
    with pytest.raises(ServerUnreachable), Client(service.replicas[1].url, service.token) as gone:
        gone.whoami()


@pytest.mark.slow
def test_signed_urls_pass_the_proxy_to_the_s3_server(tmp_path: Path) -> None:
    """As in compose.yaml: acai reaches the store inside, clients reach it through TLS."""
    (tmp_path / "s3").mkdir()
    with serve_s3(tmp_path / "s3") as server:
        inside = int(server.endpoint.rpartition(":")[2])
        with caddy(tmp_path, _free_ports(2), s3=inside) as proxy:
            url = f"{server.url('acai')}&public_endpoint={proxy.url}"
            store = open_store(url, sign_secret=b"-" * 32, environment=server.environment)
            content = b"seen through TLS" * 1000
            sha256 = Sha256(hashlib.sha256(content).hexdigest())
            put = store.sign_put(
                "one", size=len(content), sha256=sha256, expires=timedelta(minutes=1)
            )
            get = store.sign_get("one", expires=timedelta(minutes=1))
            assert put.url.startswith(proxy.url)
            with urllib3.PoolManager(ca_certs=str(proxy.authority), retries=False) as pool:
                sent = pool.request(put.method, put.url, headers=put.headers, body=content)
                assert sent.status == 200, sent.data
                read = pool.request(get.method, get.url, headers=get.headers)
                assert read.data == content


def test_compose_file_is_valid() -> None:
    check = pytest.importorskip(
        "check_jsonschema", reason="needs check-jsonschema: pip install check-jsonschema"
    )
    program = Path(ACAI).with_name("check-jsonschema")
    result = subprocess.run(
        [str(program), "--builtin-schema", "vendor.compose-spec", str(ROOT / "compose.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert check is not None
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "file",
    ["compose.yaml", "deploy/Containerfile", "deploy/acai.service"],
)
def test_variables_in_deployment_files_exist(file: str) -> None:
    used = set(re.findall(r"\bACAI_[A-Z_]+", (ROOT / file).read_text()))
    assert used
    assert used <= {row.variable for row in settings.TABLE} | CLIENT_VARIABLES


def test_compose_file_agrees_with_what_it_names() -> None:
    text = (ROOT / "compose.yaml").read_text()
    for path in re.findall(r"(?:dockerfile: |- \./)([\w./]+)", text):
        assert (ROOT / path).is_file()
    caddyfile = (DEPLOY / "Caddyfile").read_text()
    for variable in re.findall(r"\{\$(\w+)", caddyfile):
        assert re.search(rf"^ +{variable}: ", text, re.MULTILINE), variable
    documented = (ROOT / "docs" / "deployment.md").read_text()
    for variable in set(re.findall(r"\$\{(\w+):\?", text)):
        assert variable in documented
    services = set(re.findall(r"^  ([\w-]+):\n(?:    )", text, re.MULTILINE))
    for host in re.findall(r"@(\w+)/|http://(\w+):8333&|(acai-\d):7650", text):
        assert next(filter(None, host)) in services


def test_container_copies_what_the_wheel_needs() -> None:
    copied = set(
        re.findall(r"^COPY (?!--)(.+) \S+$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    )
    named = {word for line in copied for word in line.split()}
    assert {"pyproject.toml", "README.md", "src"} <= named
    assert all((ROOT / name).exists() for name in named)


def test_unit_file_is_accepted_by_systemd(tmp_path: Path) -> None:
    analyze = _program("systemd-analyze", "systemd")
    unit = (DEPLOY / "acai.service").read_text()
    copy = tmp_path / "acai.service"
    copy.write_text(_replace(unit, {"/opt/acai/bin/acai": str(ACAI)}))
    result = subprocess.run(
        [analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "acai.service" not in result.stderr  # it only warns of lines that it does not know
    assert re.search(r"^Delegate=yes$", unit, re.MULTILINE)
