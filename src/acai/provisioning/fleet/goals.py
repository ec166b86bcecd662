"""The three scenarios of a deployment search, as settings of one value."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from acai.model.errors import InvalidInput

Currency = Literal["time", "cost"]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What to make small, and what must hold.

    `deadline_s` and `budget` cover everything: each measurement, and the job itself
    afterwards. `run_within_s` and `run_cost_within` bound the job alone, and
    `quality_at_least` what the job must reach.
    """

    minimise: Currency
    deadline_s: float = inf
    budget: float = inf
    run_within_s: float = inf
    run_cost_within: float = inf
    quality_at_least: float | None = None

    def __post_init__(self) -> None:
        for name in ("deadline_s", "budget", "run_within_s", "run_cost_within"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} must be more than 0, not {getattr(self, name)}.")


def fastest() -> Goal:
    """As fast as possible, whatever it costs."""
    return Goal(minimise="time")


def cheapest_before(deadline_s: float) -> Goal:
    """As cheap as possible, with the search and the job done before the deadline."""
    return Goal(minimise="cost", deadline_s=deadline_s)


def fastest_within(budget: float) -> Goal:
    """As fast as possible, with the search and the job paid from the budget."""
    return Goal(minimise="time", budget=budget)
