"""Which configuration to take: the fastest under a cost, the cheapest under a time, or the
curve of those that nothing beats in both.

Constraints hold with a probability, by the predicted distribution: with 0.9, a run takes longer
than its deadline one time in ten. What is compared and printed otherwise is the median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acai.model.errors import InvalidInput
from acai.model.quantities import format_duration
from acai.provisioning.memory import SAFETY, MemoryModel
from acai.provisioning.pricing import Prices
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Configuration, Value

_ALIKE = 1.03  # options this close to the best count as equally good: nobody can tell them apart
_INTERVAL = 0.9
_NEXT = 3


class Optimise(StrEnum):
    TIME = "time"
    COST = "cost"
    BALANCE = "balance"  # the smallest product of both


class Predictor(Protocol):
    def predict(
        self, configurations: Sequence[Configuration], values: Mapping[str, Value]
    ) -> Prediction: ...


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is asked for. Seconds and the prices' currency; None is no limit.

    Without `optimise`, a limit on cost alone or on both asks for the fastest, one on time for
    the cheapest, and none for the balance.
    """

    max_cost: float | None = None
    max_seconds: float | None = None
    optimise: Optimise | None = None
    probability: float = 0.9

    def __post_init__(self) -> None:
        for name, limit in (("cost", self.max_cost), ("time", self.max_seconds)):
            if limit is not None and not (math.isfinite(limit) and limit > 0):
                raise InvalidInput(f"the largest {name} must be above 0, not {limit:g}")
        if not 0.5 <= self.probability < 1:
            raise InvalidInput(
                f"a limit is kept with a probability from 0.5 to below 1, not {self.probability:g}"
            )

    @property
    def minimised(self) -> Optimise:
        if self.optimise is not None:
            return self.optimise
        if self.max_cost is not None:
            return Optimise.TIME
        return Optimise.BALANCE if self.max_seconds is None else Optimise.COST


@dataclass(frozen=True, kw_only=True)
class Option:
    """One configuration with its predicted time and cost: medians, 90 % intervals, and what
    is not exceeded with the goal's probability."""

    configuration: Configuration
    seconds: float
    seconds_interval: tuple[float, float]
    seconds_likely: float
    cost: float
    cost_interval: tuple[float, float]
    cost_likely: float


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    reason: str
    count: int
    nearest: Configuration  # the one that comes closest to being allowed


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """Why nothing fits, and what would."""

    message: str
    enough_seconds: float | None = None  # with this limit on time something fits
    enough_cost: float | None = None  # with this limit on cost
    enough_memory_mb: float | None = None  # with this much memory on offer
    reachable_probability: float | None = None  # with the limits as they are


@dataclass(frozen=True, kw_only=True)
class Plan:
    goal: Goal
    considered: int
    choice: Option | None
    next_best: tuple[Option, ...]
    curve: tuple[Option, ...]  # unbeaten in time and cost among the allowed, fastest first
    exclusions: tuple[Exclusion, ...]
    shortfall: Shortfall | None
    warnings: tuple[str, ...]


def configuration_grid(
    *,
    cpus: tuple[float, float, float] = (0.5, 8.0, 0.5),
    memories_mb: tuple[float, float, float] = (512.0, 8192.0, 256.0),
    gpu: float = 0.0,
) -> list[Configuration]:
    """Every configuration from a least to a most by a step, in both directions."""
    return [
        Configuration(cpu=cpu, memory_mb=memory, gpu=gpu)
        for cpu in _steps(*cpus)
        for memory in _steps(*memories_mb)
    ]


def _steps(least: float, most: float, step: float) -> list[float]:
    return [least + step * place for place in range(int((most - least) / step + 1e-9) + 1)]


def provision(
    *,
    runtime: Predictor,
    memory: MemoryModel,
    prices: Prices,
    values: Mapping[str, Value],
    goal: Goal,
    configurations: Sequence[Configuration] | None = None,
    safety: float = SAFETY,
) -> Plan:
    """The best allowed configuration, or a plan without a choice that says what would fit."""
    offered = list(configuration_grid() if configurations is None else configurations)
    if not offered:
        raise InvalidInput("no configuration is on offer; widen what the launcher may give")
    table = _Table.of(runtime, memory, prices, values, goal, offered, safety)
    allowed = np.flatnonzero(table.survives & table.priced & table.in_time & table.in_cost)
    ranked = _ranked(table, allowed, goal.minimised)
    return Plan(
        goal=goal,
        considered=len(offered),
        choice=table.option(ranked[0]) if len(ranked) else None,
        next_best=tuple(table.option(row) for row in ranked[1 : 1 + _NEXT]),
        curve=tuple(table.option(row) for row in _unbeaten(table, allowed)),
        exclusions=_exclusions(table, goal, prices.currency),
        shortfall=None if len(ranked) else _shortfall(table, goal, prices.currency),
        warnings=table.prediction.warnings,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """All configurations, as columns."""

    offered: list[Configuration]
    prediction: Prediction
    hourly: Floats
    memory: Floats
    needed: Floats
    seconds: Floats
    interval: tuple[Floats, Floats]
    likely: Floats  # seconds not exceeded with the goal's probability
    survives: NDArray[np.bool_]
    priced: NDArray[np.bool_]
    in_time: NDArray[np.bool_]
    in_cost: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        runtime: Predictor,
        memory: MemoryModel,
        prices: Prices,
        values: Mapping[str, Value],
        goal: Goal,
        offered: list[Configuration],
        safety: float,
    ) -> _Table:
        prediction = runtime.predict(offered, values)
        hourly = np.array([prices.hourly(one) for one in offered])
        amounts = np.array([one.memory_mb for one in offered], dtype=np.float64)
        needed = memory.needed(offered, values, safety)
        likely = prediction.quantile(goal.probability)
        return cls(
            offered=offered,
            prediction=prediction,
            hourly=hourly,
            memory=amounts,
            needed=needed,
            seconds=prediction.median,
            interval=prediction.interval(_INTERVAL),
            likely=likely,
            survives=amounts >= needed,
            priced=np.isfinite(hourly),
            in_time=likely <= (goal.max_seconds or math.inf),
            in_cost=likely * hourly / 3600 <= (goal.max_cost or math.inf),
        )

    @property
    def cost(self) -> Floats:
        return self.seconds * self.hourly / 3600

    @property
    def likely_cost(self) -> Floats:
        return self.likely * self.hourly / 3600

    def option(self, row: int) -> Option:
        low, high = (float(ends[row]) for ends in self.interval)
        rate = float(self.hourly[row]) / 3600
        return Option(
            configuration=self.offered[row],
            seconds=float(self.seconds[row]),
            seconds_interval=(low, high),
            seconds_likely=float(self.likely[row]),
            cost=float(self.seconds[row]) * rate,
            cost_interval=(low * rate, high * rate),
            cost_likely=float(self.likely[row]) * rate,
        )


def _ranked(table: _Table, rows: NDArray[np.int64], minimised: Optimise) -> list[int]:
    """The best first, then the next best of other CPU counts: more of the same tells nothing."""
    if not len(rows):
        return []
    cost, seconds = table.cost, table.seconds
    first, second = {
        Optimise.TIME: (seconds, cost),
        Optimise.COST: (cost, seconds),
        Optimise.BALANCE: (seconds * cost, cost),
    }[minimised]
    order: list[int] = []
    left = rows
    while len(left) and len(order) <= _NEXT:
        alike = left[first[left] <= first[left].min() * _ALIKE]
        best = int(alike[np.argmin(second[alike])])
        order.append(best)
        cpus = np.array([table.offered[row].cpu for row in left])
        left = left[cpus != table.offered[best].cpu]
    return order


def _unbeaten(table: _Table, rows: NDArray[np.int64]) -> list[int]:
    """From the cheapest on, each that is noticeably faster than all cheaper ones; fastest first."""
    fastest = math.inf
    kept: list[int] = []
    for row in rows[np.lexsort((table.seconds[rows], table.cost[rows]))]:
        if table.seconds[row] * _ALIKE < fastest:
            kept.append(int(row))
            fastest = float(table.seconds[row])
    return kept[::-1]


def _exclusions(table: _Table, goal: Goal, currency: str) -> tuple[Exclusion, ...]:
    """Every excluded configuration under the first reason that applies to it."""
    chance = f"with {100 * goal.probability:.0f} % probability"
    reasons = [
        ("would run out of memory", ~table.survives, table.needed / table.memory),
        ("no instance type holds it", ~table.priced, table.memory),
        (
            f"takes longer than {format_duration(goal.max_seconds or 0)} {chance}",
            ~table.in_time,
            table.likely,
        ),
        (
            f"costs more than {said_cost(goal.max_cost or 0, currency)} {chance}",
            ~table.in_cost,
            table.likely_cost,
        ),
    ]
    left = np.ones(len(table.offered), dtype=np.bool_)
    found = []
    for reason, out, badness in reasons:
        rows = np.flatnonzero(left & out)
        if len(rows):
            nearest = table.offered[rows[np.argmin(badness[rows])]]
            found.append(Exclusion(reason=reason, count=len(rows), nearest=nearest))
        left &= ~out
    return tuple(found)


def _shortfall(table: _Table, goal: Goal, currency: str) -> Shortfall:
    usable = np.flatnonzero(table.survives & table.priced)
    if not len(usable):
        return _too_small(table)
    chance = f"with {100 * goal.probability:.0f} % probability"
    reachable = _reachable(table, goal, usable)
    in_cost = usable[table.in_cost[usable]]
    in_time = usable[table.in_time[usable]]
    said, enough_seconds, enough_cost = [], None, None
    if goal.max_seconds is not None and len(in_cost):
        row = int(in_cost[np.argmin(table.likely[in_cost])])
        enough_seconds = float(table.likely[row])
        said.append(
            f"the fastest, {table.offered[row]}, needs {format_duration(enough_seconds)} {chance}, "
            f"{format_duration(enough_seconds - goal.max_seconds)} too long"
        )
    if goal.max_cost is not None and len(in_time):
        row = int(in_time[np.argmin(table.likely_cost[in_time])])
        enough_cost = float(table.likely_cost[row])
        said.append(
            f"the cheapest, {table.offered[row]}, costs {said_cost(enough_cost, currency)} "
            f"{chance}, {said_cost(enough_cost - goal.max_cost, currency)} too much"
        )
    if not said:
        enough_seconds = float(table.likely[usable].min())
        enough_cost = float(table.likely_cost[usable].min())
        said.append(
            f"neither limit can be kept: the fastest needs {format_duration(enough_seconds)}, "
            f"the cheapest {said_cost(enough_cost, currency)} {chance}"
        )
    remedy = f"; as asked, the limits hold with at most {100 * reachable:.0f} %"
    return Shortfall(
        message=f"Nothing fits: {'; '.join(said)}{remedy}.",
        enough_seconds=enough_seconds,
        enough_cost=enough_cost,
        reachable_probability=reachable,
    )


def _too_small(table: _Table) -> Shortfall:
    if not table.survives.any():
        needed = float(table.needed.min())
        return Shortfall(
            message=f"Nothing fits: a run needs about {needed:.0f} MB of memory to be safe, "
            f"and at most {table.memory.max():.0f} MB are on offer.",
            enough_memory_mb=needed,
        )
    return Shortfall(message="Nothing fits: the price file has no type that is large enough.")


def _reachable(table: _Table, goal: Goal, rows: NDArray[np.int64]) -> float:
    """The best probability with which any configuration keeps the limits."""
    limit = np.full(len(table.offered), goal.max_seconds or math.inf)
    if goal.max_cost is not None:
        with np.errstate(divide="ignore"):
            limit = np.minimum(limit, goal.max_cost * 3600 / table.hourly)
    return float(table.prediction.probability_below(limit)[rows].max())


def said_cost(amount: float, currency: str) -> str:
    return f"{currency}{amount:.4g}" if amount < 1 else f"{currency}{amount:,.2f}"
