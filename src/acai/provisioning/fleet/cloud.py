"""What a fleet search needs of a cloud: what it offers, and what it costs to try one offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Protocol

from acai.model.errors import InvalidInput

Curve = tuple[str, tuple[tuple[str, float], ...]]


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """`count` instances of one type, and whatever else of the job is being chosen with them.

    `price_per_hour` is the whole fleet's. `cpu` and `memory_mb` are one instance's.
    `features` are further numbers that tell configurations apart (a learning rate, a batch
    size), already on the scale on which equal distances mean equal differences.
    A measurement runs `measuring_share` of the job, or takes `measuring_s` where that is given.
    """

    name: str
    instance: str
    count: int
    price_per_hour: float
    cpu: float
    memory_mb: float
    features: Mapping[str, float] = field(default_factory=dict)
    measuring_share: float = 1.0
    measuring_s: float | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or self.price_per_hour <= 0 or self.cpu <= 0 or self.memory_mb <= 0:
            raise InvalidInput(
                f"Configuration {self.name!r} needs a count of at least 1 and a price, CPU and "
                "memory above 0."
            )
        if not 0 < self.measuring_share <= 1 or (self.measuring_s or 1.0) <= 0:
            raise InvalidInput(
                f"Measuring configuration {self.name!r} must take a share of the job above 0 and "
                "not above 1, or a time above 0."
            )

    @cached_property
    def curve(self) -> Curve:
        """What stays the same along one scale-out curve."""
        return self.instance, tuple(sorted(self.features.items()))

    def cost_of(self, seconds: float) -> float:
        return self.price_per_hour * seconds / 3600.0


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What one measurement may use up. It must be cut when it reaches either."""

    time_s: float = inf
    cost: float = inf


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one measurement showed, and what having measured took.

    `time_s` is the job's run time there when `completed`; otherwise the job is only known not
    to finish before `time_s` (0 where a failure says nothing about time).
    """

    configuration: str
    completed: bool
    time_s: float
    spent_s: float
    spent_cost: float
    quality: float | None = None

    def __post_init__(self) -> None:
        if self.time_s < 0 or (self.completed and self.time_s == 0):
            raise InvalidInput(
                f"A measurement of {self.configuration!r} that completed needs a run time above 0."
            )


class Cloud(Protocol):
    """Where configurations can be rented and tried. An implementation translates its own
    errors: a configuration that fails is an observation that did not complete."""

    def offers(self) -> Sequence[Configuration]:
        """Every configuration that may be chosen. Names are unique, and the answer does not
        change during a search."""
        ...

    def measure(self, configuration: Configuration, limit: Limit) -> Observation:
        """Try one configuration and say what it took, never using more than `limit`."""
        ...
