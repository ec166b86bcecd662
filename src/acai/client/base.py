"""What the parts of the client share: the session, and walking through pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from acai.client.decode import decode
from acai.client.transport import Session

T = TypeVar("T")


class Part:
    _session: Session

    def _pages(
        self, kind: type[T], path: str, query: Mapping[str, Any] | None = None, *, size: int = 1000
    ) -> Iterator[T]:
        """Every item of a list, page after page, as it is asked for."""
        cursor: str | None = None
        while True:
            answer = self._session.call(
                "GET", path, query={**(query or {}), "cursor": cursor, "limit": size}
            )
            for item in answer["items"]:
                yield decode(kind, item)
            cursor = answer.get("next")
            if cursor is None:
                return
