"""A cloud that answers from a table of runs that were measured before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from acai.model.errors import InvalidInput
from acai.provisioning.fleet.cloud import Configuration, Limit, Observation


@dataclass(frozen=True, kw_only=True)
class Row:
    """One configuration as it was measured: a whole run of the job there."""

    configuration: Configuration
    time_s: float
    quality: float | None = None

    @property
    def cost(self) -> float:
        return self.configuration.cost_of(self.time_s)


class TableCloud:
    """Replays a table, and keeps account of what it gave out.

    With `share` below 1 a measurement runs only that part of the job, and is taken to tell the
    time of the whole.
    """

    def __init__(self, rows: Iterable[Row], *, share: float = 1.0) -> None:
        self._rows = {row.configuration.name: row for row in rows}
        self._offers = tuple(
            replace(row.configuration, measuring_share=share) for row in self._rows.values()
        )
        self.spent_s = 0.0
        self.spent_cost = 0.0

    def offers(self) -> Sequence[Configuration]:
        return self._offers

    def measure(self, configuration: Configuration, limit: Limit) -> Observation:
        row = self._rows.get(configuration.name)
        if row is None:
            raise InvalidInput(f"The table has no configuration {configuration.name!r}.")
        share = configuration.measuring_share
        needs = row.time_s * share
        if configuration.measuring_s is not None:
            needs = configuration.measuring_s
        allowed = min(limit.time_s, limit.cost * 3600.0 / configuration.price_per_hour)
        completed = needs <= allowed
        spent = needs if completed else allowed
        self.spent_s += spent
        self.spent_cost += configuration.cost_of(spent)
        known_to_exceed = spent / share if configuration.measuring_s is None else 0.0
        return Observation(
            configuration=configuration.name,
            completed=completed,
            time_s=row.time_s if completed else known_to_exceed,
            spent_s=spent,
            spent_cost=configuration.cost_of(spent),
            quality=row.quality if completed else None,
        )
