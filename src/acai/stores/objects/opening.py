"""From a storage URL to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from acai.model.errors import InvalidInput, InvalidSetting
from acai.model.keys import check_prefix
from acai.stores.objects.base import SigningStore
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.objects.sigv4 import Credentials

if TYPE_CHECKING:
    from obstore.store import AzureConfig, S3Config

_FORMS = (
    "use a directory, file:///directory, s3://bucket/prefix?endpoint=http://host:port&region=name, "
    "gs://bucket/prefix or az://container/prefix?account=name"
)
_OPTIONS = {
    "s3": {"endpoint", "public_endpoint", "region", "style"},
    "gs": set(),
    "az": {"account", "endpoint"},
}


@dataclass(frozen=True, kw_only=True)
class BucketUrl:
    """A storage URL taken apart. Shows no secret."""

    scheme: str
    bucket: str
    prefix: str  # empty, or ends in "/"
    options: Mapping[str, str]
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def open_store(
    url: str,
    *,
    sign_secret: bytes,
    public_base_url: str = "",
    environment: Mapping[str, str] | None = None,
) -> SigningStore:
    """The store that `url` names; a bucket on S3 is made if it is missing and may be made.

    `sign_secret` and `public_base_url` matter to a directory only (see LocalStore).
    `environment` holds AWS_*, GOOGLE_* and AZURE_* variables; by default the process's own.
    Raises InvalidSetting for a URL that cannot be used, Unavailable for a store that does
    not answer.
    """
    directory = _directory(url)
    if directory is not None:
        return LocalPartsStore(directory, sign_secret=sign_secret, public_base_url=public_base_url)
    parsed = parse_bucket_url(url)
    _require_obstore()
    env = os.environ if environment is None else environment
    if parsed.scheme == "s3":
        return _open_s3(parsed, env)
    if parsed.scheme == "gs":
        return _open_gcs(parsed)
    return _open_azure(parsed, env)


def parse_bucket_url(url: str) -> BucketUrl:
    """Take `s3://`, `gs://` or `az://` apart; raises InvalidSetting that names the forms."""
    parts = urlsplit(url)
    if parts.scheme not in _OPTIONS:
        raise InvalidSetting(f"storage {_shown(url)!r} has no known form; {_FORMS}")
    if not parts.hostname:
        raise InvalidSetting(f"storage {_shown(url)!r} names no bucket; {_FORMS}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - _OPTIONS[parts.scheme])
    if unknown:
        raise InvalidSetting(
            f"storage {_shown(url)!r} has the unknown option {unknown[0]!r}; "
            f"{parts.scheme}:// takes {', '.join(sorted(_OPTIONS[parts.scheme])) or 'none'}"
        )
    path = parts.path.strip("/")
    try:
        prefix = check_prefix(f"{path}/" if path else "")
    except InvalidInput as error:
        raise InvalidSetting(f"storage {_shown(url)!r}: {error.message}") from error
    return BucketUrl(
        scheme=parts.scheme,
        bucket=parts.netloc.rpartition("@")[2],
        prefix=prefix,
        options=options,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


def _directory(url: str) -> Path | None:
    if "://" not in url:
        if not url or url.split(":", maxsplit=1)[0] in {"file", *_OPTIONS}:
            raise InvalidSetting(f"storage {_shown(url)!r} has no known form; {_FORMS}")
        return Path(url).expanduser()
    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise InvalidSetting(f"storage {_shown(url)!r} is not file:///directory")
    return Path(unquote(parts.path))


def _require_obstore() -> None:
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise InvalidSetting(
            "storage outside a directory needs the package obstore; run: pip install 'acai[s3]'"
        ) from error


def _open_s3(url: BucketUrl, env: Mapping[str, str]) -> SigningStore:
    import obstore.store

    from acai.stores.objects.remote import CLIENT, RETRY
    from acai.stores.objects.s3 import S3Store
    from acai.stores.objects.s3_http import Bucket

    credentials = _aws_credentials(url, env)
    region = (
        url.options.get("region")
        or env.get("AWS_REGION")
        or env.get("AWS_DEFAULT_REGION")
        or "us-east-1"
    )
    endpoint = (
        url.options.get("endpoint")
        or env.get("AWS_ENDPOINT_URL_S3")
        or env.get("AWS_ENDPOINT_URL")
        or f"https://s3.{region}.amazonaws.com"
    )
    own = endpoint.endswith(".amazonaws.com") and "." not in url.bucket
    style = url.options.get("style", "host" if own else "path")
    if style not in ("host", "path"):
        raise InvalidSetting(f"style={style!r} in the storage URL has to be 'host' or 'path'")

    def bucket_at(address: str) -> Bucket:
        scheme, host = _address(address)
        return Bucket(
            name=url.bucket,
            origin=f"{scheme}://{url.bucket}.{host}" if style == "host" else f"{scheme}://{host}",
            path="" if style == "host" else f"/{url.bucket}",
            region=region,
            credentials=credentials,
        )

    inside = bucket_at(endpoint)
    inside.ensure()
    inside.let_browsers_in()
    config: S3Config = {
        "endpoint": inside.origin if style == "host" else endpoint.rstrip("/"),
        "region": region,
        "virtual_hosted_style_request": style == "host",
        "access_key_id": credentials.access_key,
        "secret_access_key": credentials.secret_key,
        "checksum_algorithm": "SHA256",
    }
    if credentials.session_token:
        config["session_token"] = credentials.session_token
    plain = obstore.store.S3Store(
        url.bucket,
        prefix=url.prefix.rstrip("/") or None,
        config=config,
        client_options=CLIENT,
        retry_config=RETRY,
    )
    outside = bucket_at(url.options.get("public_endpoint") or endpoint)
    return S3Store(plain, inside=inside, outside=outside, prefix=url.prefix)


def _open_gcs(url: BucketUrl) -> SigningStore:
    import obstore.store

    from acai.stores.objects.remote import CLIENT, RETRY, CloudStore

    plain = obstore.store.GCSStore(
        url.bucket, prefix=url.prefix or None, client_options=CLIENT, retry_config=RETRY
    )
    name = f"gs://{url.bucket}/{url.prefix}".rstrip("/")
    return CloudStore(name, plain, put_headers={})


def _open_azure(url: BucketUrl, env: Mapping[str, str]) -> SigningStore:
    import obstore.store

    from acai.stores.objects.remote import CLIENT, RETRY, CloudStore

    account = url.options.get("account") or env.get("AZURE_STORAGE_ACCOUNT_NAME")
    key = env.get("AZURE_STORAGE_ACCOUNT_KEY")
    if not account:
        raise InvalidSetting(
            "Azure storage needs an account; add ?account=name or set AZURE_STORAGE_ACCOUNT_NAME"
        )
    config: AzureConfig = {"account_name": account}
    if key:
        config["account_key"] = key
    if "endpoint" in url.options:
        config["endpoint"] = url.options["endpoint"]
    plain = obstore.store.AzureStore(
        url.bucket,
        prefix=url.prefix.rstrip("/") or None,
        config=config,
        client_options=CLIENT,
        retry_config=RETRY,
    )
    name = f"az://{url.bucket}/{url.prefix}".rstrip("/")
    return CloudStore(name, plain, put_headers={"x-ms-blob-type": "BlockBlob"})


def _aws_credentials(url: BucketUrl, env: Mapping[str, str]) -> Credentials:
    if url.username and url.password:
        return Credentials(access_key=url.username, secret_key=url.password)
    access_key, secret_key = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        raise InvalidSetting(
            f"storage s3://{url.bucket} needs credentials; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN if they are temporary)"
        )
    return Credentials(
        access_key=access_key,
        secret_key=secret_key,
        session_token=env.get("AWS_SESSION_TOKEN") or None,
    )


def _address(endpoint: str) -> tuple[str, str]:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise InvalidSetting(f"endpoint {endpoint!r} in the storage URL is not http(s)://host:port")
    return parts.scheme, parts.netloc


def _shown(url: str) -> str:
    """The URL without what may be a secret."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://***@{tail}" if at else url
