"""What the engine needs of the lake and of prices; `wiring` passes in who does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from acai.model.assignments import Pinned
from acai.model.identity import Principal
from acai.model.jobs import Resources
from acai.stores.records.database import Transaction


class JobData(Protocol):
    def pin(self, caller: Principal, inputs: Sequence[str], code: str | None) -> Pinned:
        """The versions that references mean now.

        Raises for what does not exist, and PathConflict for a path that two of them claim.
        """
        ...

    def make_output(
        self,
        caller: Principal,
        *,
        job_id: int,
        name: str,
        upload: str,
        file_count: int,
        sources: Sequence[int],
        finish: Callable[[Transaction, int, str], None],
    ) -> None:
        """Commit an upload and make the next version of a set of its files.

        `finish` gets the version's row and reference, in the transaction that makes it: what
        it writes is there together with the set, or not at all.
        """
        ...

    def is_there(self, tx: Transaction, set_id: int) -> str | None:
        """The reference of a set version that has not been removed, or None."""
        ...

    def references(self, tx: Transaction, set_ids: Sequence[int]) -> dict[int, str]: ...


Price = Callable[[Resources, float], float]
"""What so many seconds on these resources cost."""
