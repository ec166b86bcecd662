"""What provisioning needs of the engine and the lake; `wiring` passes in who does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from acai.model.assignments import Pinned
from acai.model.identity import Principal
from acai.model.ids import ProjectId, UserId
from acai.model.jobs import Capacity, Job, JobRequest

Pin = Callable[[Principal, Sequence[str], str | None], Pinned]
"""The versions that references mean now."""

ActingFor = Callable[[ProjectId, UserId], Principal | None]
"""The principal of a user for whom something is done in the background."""


class Jobs(Protocol):
    def submit(
        self,
        caller: Principal,
        request: JobRequest,
        *,
        template_id: int | None = None,
        prediction: str | None = None,
    ) -> Job: ...

    def kill(self, caller: Principal, job: str) -> Job: ...

    def capacity(self) -> Capacity: ...
