"""What a search has tried and spent, what it may still spend, and what it may choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acai.provisioning.fleet.cloud import Configuration, Curve, Limit, Observation
from acai.provisioning.fleet.goals import Goal

_SLACK = 1.0 - 1e-6  # sums of floats must not eat into the reserve


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One measurement of a search. `limit` is what it was allowed, `reason` why it was chosen."""

    configuration: Configuration
    observation: Observation
    limit: Limit
    reason: str

    @property
    def run_cost(self) -> float:
        return self.configuration.cost_of(self.observation.time_s)

    def objective(self, goal: Goal) -> float:
        return self.observation.time_s if goal.minimise == "time" else self.run_cost


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """A search's goal and trials. `margin` is the share by which a run may exceed what was
    measured before it breaks a deadline or a budget."""

    goal: Goal
    margin: float
    trials: tuple[Trial, ...] = ()

    @property
    def spent_s(self) -> float:
        return sum(trial.observation.spent_s for trial in self.trials)

    @property
    def spent_cost(self) -> float:
        return sum(trial.observation.spent_cost for trial in self.trials)

    @property
    def left(self) -> Limit:
        return Limit(
            time_s=self.goal.deadline_s - self.spent_s, cost=self.goal.budget - self.spent_cost
        )

    def after(self, trial: Trial) -> Ledger:
        return Ledger(goal=self.goal, margin=self.margin, trials=(*self.trials, trial))

    def acceptable(self, trial: Trial) -> bool:
        """It completed, meets what the job alone must meet, and can still be afforded."""
        goal, seen, left = self.goal, trial.observation, self.left
        quality = goal.quality_at_least
        return (
            seen.completed
            and seen.time_s <= goal.run_within_s
            and trial.run_cost <= goal.run_cost_within
            and (quality is None or (seen.quality is not None and seen.quality >= quality))
            and seen.time_s * (1.0 + self.margin) <= left.time_s
            and trial.run_cost * (1.0 + self.margin) <= left.cost
        )

    def best(self) -> Trial | None:
        fit = [trial for trial in self.trials if self.acceptable(trial)]
        return min(fit, key=lambda trial: trial.objective(self.goal), default=None)

    def reserve(self) -> Limit:
        """What running the best found so far would take: no measurement may touch it."""
        best = self.best()
        if best is None:
            return Limit(time_s=0.0, cost=0.0)
        return Limit(
            time_s=best.observation.time_s * (1.0 + self.margin),
            cost=best.run_cost * (1.0 + self.margin),
        )

    def spendable(self) -> Limit:
        left, reserve = self.left, self.reserve()
        return Limit(
            time_s=max(0.0, left.time_s * _SLACK - reserve.time_s),
            cost=max(0.0, left.cost * _SLACK - reserve.cost),
        )


def closed_beyond(trials: Sequence[Trial]) -> dict[Curve, int]:
    """Per scale-out curve that has begun to fall, the count beyond which nothing is tried.

    Speed over count rises and then falls; past the top every larger fleet is slower and dearer.
    A trial that was cut counts with the time that it is known to exceed.
    """
    closed: dict[Curve, int] = {}
    fastest: dict[Curve, float] = {}
    for trial in sorted(trials, key=lambda trial: trial.configuration.count):
        curve, seen = trial.configuration.curve, trial.observation
        if curve in fastest and seen.time_s >= fastest[curve]:
            closed.setdefault(curve, trial.configuration.count)
        if seen.completed:
            fastest[curve] = min(seen.time_s, fastest.get(curve, seen.time_s))
    return closed


def smallest_of_each(offers: Sequence[Configuration]) -> list[Configuration]:
    """The smallest fleet of every scale-out curve: a single instance, where that is offered."""
    least: dict[Curve, Configuration] = {}
    for offer in offers:
        known = least.get(offer.curve)
        if known is None or offer.count < known.count:
            least[offer.curve] = offer
    return list(least.values())
