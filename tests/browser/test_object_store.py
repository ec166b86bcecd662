"""Files of a platform whose bytes lie in an object store of another origin, in a browser."""

from __future__ import annotations

import base64
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acai.client.client import Client
from acai.stores.objects.browsers import lets_in
from acai.stores.objects.opening import open_store
from acai.stores.objects.s3 import S3Store
from acai.stores.objects.s3_http import Bucket
from servers.acai_up import RunningServer, acai_up
from servers.browsing import token_of, watched
from servers.seaweed import SeaweedServer
from servers.shell import Shell

# Two rows, {city: Zürich, n: 7} and {city: <i>x</i>, n: 8}, packed by zstd.
PARQUET = base64.b64decode(
    "UEFSMRUAFToVTCwVBBUAFQYVBhwAAAAotS/9IB3pAAACAAAABAEHAAAAWsO8cmljaAgAAAA8aT54PC9pPhUAFSwVPiwV"
    "BBUAFQYVBhwAAAAotS/9IBaxAAACAAAABAEHAAAAAAAAAAgAAAAAAAAAFQQZPDUAGAZzY2hlbWEVBAAVDCUCGARjaXR5"
    "JQBMHAAAABUEJQIYAW4AFgQZHBksJgAcFQwZJQYAGRgEY2l0eRUMFgQWYBZyJghJHBUAFQAVAgA8Fh4ZBhkmAAQAAAAm"
    "ABwVBBklBgAZGAFuFQwWBBZSFmQmekkcFQAVABUCADwpBhkmAAQAAAAWsgEWBCYIFtYBACggcGFycXVldC1jcHAtYXJy"
    "b3cgdmVyc2lvbiAyNi4wLjEZLBwAABwAAAC/AAAAUEFSMQ=="
)


def _picture() -> bytes:
    """A PNG of one purple pixel."""
    parts = [
        (b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])),
        (b"IDAT", zlib.compress(bytes([0, 138, 76, 196]))),
        (b"IEND", b""),
    ]
    chunks = (
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.fixture
def far_server(
    seaweed: SeaweedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    storage = {**seaweed.environment, "ACAI_STORAGE": seaweed.url(f"far-{secrets.token_hex(4)}")}
    with acai_up(tmp_path_factory.mktemp("far") / "home", storage) as running:
        yield running


def test_uploads_previews_and_downloads(
    chromium: Any, far_server: RunningServer, tmp_path: Path
) -> None:
    files = {
        "one.json": b'{"a": [1, 2]}',
        "rows.csv": b'id,text\n1,"a, b"\n',
        "table.parquet": PARQUET,
        "dot.png": _picture(),
        "long.txt": b"hello\n" * 400_000,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with watched(chromium, far_server.url) as browsing:
        browsing.sign_in(token_of(far_server))
        page = browsing.page
        browsing.open("/data")
        page.locator("input[type=file]").set_input_files([str(tmp_path / name) for name in files])
        page.get_by_text("5 files uploaded").wait_for()

        browsing.go("/data?path=/one.json")
        page.get_by_label("Content").get_by_text('"a": [').wait_for()
        browsing.go("/data?path=/rows.csv")
        page.get_by_role("cell", name="a, b").wait_for()
        browsing.go("/data?path=/table.parquet")
        page.get_by_role("cell", name="Zürich").wait_for()
        assert page.get_by_role("cell", name="<i>x</i>").count() == 1
        browsing.go("/data?path=/dot.png")
        page.wait_for_function("() => document.querySelector('main img')?.naturalWidth === 1")
        browsing.go("/data?path=/long.txt")
        page.get_by_role("button", name="The first 262 KB of 2.4 MB; show more").wait_for()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert Path(download.value.path()).read_bytes() == files["long.txt"]
    lake = Client(far_server.url, token_of(far_server))
    assert lake.read_bytes("/table.parquet") == PARQUET


def test_rules_that_a_bucket_has_are_left_alone(seaweed: SeaweedServer, tmp_path: Path) -> None:
    url = seaweed.url(f"ruled-{secrets.token_hex(4)}")
    store = open_store(url, sign_secret=b"-", environment=seaweed.environment)
    assert isinstance(store, S3Store)
    assert lets_in(store, "http://acai.example")
    bucket: Bucket = store._inside
    ruled = (
        b"<CORSConfiguration><CORSRule><AllowedOrigin>https://else.example</AllowedOrigin>"
        b"<AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>"
    )
    bucket.request("PUT", "", query={"cors": ""}, body=ruled)
    again = open_store(url, sign_secret=b"-", environment=seaweed.environment)
    assert not lets_in(again, "http://acai.example")
    said = Shell(home=tmp_path, variables=seaweed.environment)("doctor", "--storage", url, "--json")
    (finding,) = [one for one in said.json if one["name"] == "objects"]
    assert finding["health"] == "warning"
    assert "allow http://127.0.0.1:7650 in its CORS rules" in finding["remedy"]
