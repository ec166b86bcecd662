"""Whether a store lets the pages of another origin read and write by signed URLs."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

import urllib3

from acai.stores.objects.base import Signer

_ASKED = (("GET", "range"), ("PUT", "content-type"))


def lets_in(store: Signer, origin: str) -> bool:
    """Ask the store what a browser asks it before it sends a request from a page of `origin`."""
    url = store.sign_get("acai-check", expires=timedelta(minutes=1)).url
    if not urlsplit(url).netloc:
        return True  # the bytes come from the pages' own server
    with urllib3.PoolManager(retries=False, timeout=5) as pool:
        return all(_allows(pool, url, origin, method, header) for method, header in _ASKED)


def _allows(pool: urllib3.PoolManager, url: str, origin: str, method: str, header: str) -> bool:
    asking = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": header,
    }
    try:
        answer = pool.request("OPTIONS", url, headers=asking)
    except urllib3.exceptions.HTTPError:
        return False
    if answer.status >= 300:
        return False
    allowed = answer.headers.get("access-control-allow-origin")
    methods = answer.headers.get("access-control-allow-methods", "")
    return allowed in ("*", origin) and (method in methods or methods == "*")
