"""The Python SDK's one door: `acai.Client()`."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from acai.client.credentials import discover
from acai.client.identity import IdentityPart
from acai.client.metadata import MetadataPart
from acai.client.provenance import ProvenancePart
from acai.client.provisioning import ProvisioningPart
from acai.client.transport import HttpTransport, Session, Transport


class Client(ProvisioningPart, IdentityPart, ProvenancePart, MetadataPart):
    """A connection to an acai platform. Thread-safe; use it as a context manager or `close` it.

    Without arguments it finds the server and the token as the command line does: `ACAI_SERVER`
    and `ACAI_TOKEN`, else the home's files.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        project: str | None = None,
        *,
        transport: Transport | None = None,
    ) -> None:
        target = discover(server=server, token=token, project=project)
        self.server = target.server
        self._session = Session(
            transport or HttpTransport(),
            target.server,
            token=target.token,
            project=target.project,
        )

    def close(self) -> None:
        self._session.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"acai.Client({self.server!r})"
