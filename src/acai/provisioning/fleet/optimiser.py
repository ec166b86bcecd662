"""The search for a deployment: which configuration to try next, when to stop, what to take.

`choose` decides and does nothing; `search` is the loop that measures what it is told to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from acai.model.errors import InvalidInput
from acai.provisioning.fleet.cloud import Cloud, Configuration, Limit
from acai.provisioning.fleet.goals import Goal
from acai.provisioning.fleet.improvement import (
    Array,
    absolute_improvement,
    chance_below,
    relative_improvement,
)
from acai.provisioning.fleet.knowledge import Knowledge, Numbers, Outlook, look
from acai.provisioning.fleet.ledger import Ledger, Trial, closed_beyond, smallest_of_each
from acai.provisioning.fleet.surrogate import Space

_HOPELESS = 0.01  # below this chance, looking for a first configuration that fits is over


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to search.

    openings            measurements taken from the smallest fleets before larger ones are open
    runs                how many runs the choice will serve: a measurement is worth its price
                        while what it is expected to save on all of them exceeds it, counting
                        the time or the money that a deadline or a budget limits as well; inf
                        never stops for that reason
    max_measurements    stop after so many
    price_power         0 ignores what a measurement takes, 1 divides the gain by it
    patience            a measurement is cut once the job there has taken this many times the
                        best found, since it can no longer win; inf lets it end
    caution             the least chance, that measuring an offer and then running it can be
                        paid for, at which it is tried
    margin              share by which the job may exceed its measurement and still fit
    opening_share       of all that may be spent, what one measurement may take while nothing
                        is known to fit
    """

    openings: int = 1
    runs: float = 8.0
    max_measurements: int | None = None
    price_power: float = 1.0
    patience: float = 1.0
    caution: float = 0.3
    margin: float = 0.05
    opening_share: float = 0.48

    def __post_init__(self) -> None:
        if self.openings < 1 or self.runs <= 0 or self.patience < 1.0 or self.margin < 0:
            raise InvalidInput(
                "A search needs at least 1 opening, more than 0 runs, a patience of at least 1 "
                "and a margin of at least 0."
            )
        if not 0 < self.opening_share <= 1 or not 0 <= self.caution <= 1:
            raise InvalidInput(
                "opening_share must lie above 0 and not above 1, caution between 0 and 1."
            )


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The next thing to do: try this, within this limit."""

    configuration: Configuration
    limit: Limit
    reason: str


@dataclass(frozen=True, kw_only=True)
class Stop:
    reason: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where a search ended. `choice` is None when nothing measured can be afforded and meets
    the goal. `spent_s` and `spent_cost` are the search's own."""

    goal: Goal
    choice: Configuration | None
    run_s: float
    run_cost: float
    spent_s: float
    spent_cost: float
    trials: tuple[Trial, ...]
    stopped: str

    @property
    def total_s(self) -> float:
        return self.spent_s + self.run_s

    @property
    def total_cost(self) -> float:
        return self.spent_cost + self.run_cost


def search(
    cloud: Cloud,
    goal: Goal,
    *,
    settings: Settings | None = None,
    past: Sequence[Mapping[str, float]] = (),
    space: Space | None = None,
    seed: int = 0,
) -> Plan:
    """Measure configurations of `cloud` until the best is good enough for `goal`.

    The same arguments and answers give the same plan. What is spent, together with running the
    choice, stays within the goal's deadline and budget: every measurement is limited to what
    remains when the best found so far is set aside. `past` holds run times of earlier jobs by
    configuration name; `space`, where given, already contains them and the cloud's offers.
    """
    settings = settings or Settings()
    space = space or Space(cloud.offers(), past=past, seed=seed)
    knowledge = Knowledge(space, goal)
    ledger = Ledger(goal=goal, margin=settings.margin)
    random = np.random.default_rng(seed)
    while isinstance(step := choose(knowledge, ledger, settings, random), Measure):
        seen = cloud.measure(step.configuration, step.limit)
        knowledge.observe(seen)
        ledger = ledger.after(
            Trial(
                configuration=step.configuration,
                observation=seen,
                limit=step.limit,
                reason=step.reason,
            )
        )
    best = ledger.best()
    return Plan(
        goal=goal,
        choice=best.configuration if best else None,
        run_s=best.observation.time_s if best else 0.0,
        run_cost=best.run_cost if best else 0.0,
        spent_s=ledger.spent_s,
        spent_cost=ledger.spent_cost,
        trials=ledger.trials,
        stopped=step.reason,
    )


def choose(
    knowledge: Knowledge, ledger: Ledger, settings: Settings, random: np.random.Generator
) -> Measure | Stop:
    """Decide from what is known and spent. Draws from `random` for the first opening only."""
    count = len(ledger.trials)
    if settings.max_measurements is not None and count >= settings.max_measurements:
        return Stop(reason=f"{count} measurements were allowed")
    limit = ledger.spendable()
    best = ledger.best()
    if best is None:
        share = settings.opening_share
        limit = Limit(time_s=limit.time_s * share, cost=limit.cost * share)
    if limit.time_s <= 0 or limit.cost <= 0:
        return Stop(reason="what is left is reserved for running the best found")
    offers = _open(knowledge.space, ledger, settings)
    if not offers.size:
        return Stop(reason="every configuration that could help was tried")
    if not count:
        opening = _roomiest(knowledge.space, offers, random)
        return Measure(
            configuration=opening,
            limit=_while_useful(limit, ledger.goal, opening),
            reason="the smallest fleet with the most memory to begin with",
        )
    view = look(knowledge, ledger, limit, offers, settings.patience)
    if best is None:
        return _towards_a_first_fit(knowledge.space, ledger, settings, limit, view)
    return _towards_a_better(knowledge.space, ledger, settings, best, limit, view)


def _open(space: Space, ledger: Ledger, settings: Settings) -> Numbers:
    """The offers that may be tried next, by number."""
    tried = {trial.configuration.name for trial in ledger.trials}
    closed = closed_beyond(ledger.trials)
    offers: Sequence[Configuration] = space.offers
    if len(tried) < settings.openings:
        offers = smallest_of_each(offers)
    found = [
        space.index[offer.name]
        for offer in offers
        if offer.name not in tried and offer.count <= closed.get(offer.curve, offer.count)
    ]
    return np.array(found, dtype=np.intp)


def _roomiest(space: Space, offers: Numbers, random: np.random.Generator) -> Configuration:
    """There a job is least likely to fail, or to crawl because its data does not fit."""
    memory = np.array([space.offers[offer].memory_mb for offer in offers])
    return space.offers[int(random.choice(offers[memory == memory.max()]))]


def _while_useful(limit: Limit, goal: Goal, offer: Configuration) -> Limit:
    """The limit, and no longer than the job alone may take."""
    if offer.measuring_s is not None:
        return limit
    longest = min(goal.run_within_s, goal.run_cost_within * 3600.0 / offer.price_per_hour)
    return Limit(time_s=min(limit.time_s, longest * offer.measuring_share), cost=limit.cost)


def _towards_a_first_fit(
    space: Space, ledger: Ledger, settings: Settings, limit: Limit, view: Outlook
) -> Measure | Stop:
    """Nothing measured can be chosen yet: the likeliest to fit, for what it takes to see."""
    if view.fits.max() < _HOPELESS:
        return Stop(reason="no configuration is likely to fit what is left")
    price = view.spend_s * view.unit
    pick = int(np.argmax(view.fits / price**settings.price_power))
    return Measure(
        configuration=space.offers[view.offers[pick]],
        limit=Limit(time_s=min(limit.time_s, float(view.cut_s[pick])), cost=limit.cost),
        reason=f"fits with a chance of {view.fits[pick]:.0%}, and nothing yet does",
    )


def _towards_a_better(
    space: Space, ledger: Ledger, settings: Settings, best: Trial, limit: Limit, view: Outlook
) -> Measure | Stop:
    """The offer of the greatest expected gain for what it takes, if any is worth that."""
    have = best.objective(ledger.goal)
    edge = np.minimum(view.edge, have)
    reach = chance_below(edge, view.mean, view.spread)
    relative = np.log(have / edge) * reach + relative_improvement(edge, view.mean, view.spread)
    absolute = (have - edge) * reach + absolute_improvement(edge, view.mean, view.spread)
    gain = (view.weights @ relative) * view.quality
    saved = (view.weights @ absolute) * view.quality
    price = view.spend_s * view.unit
    took = price / have + _limited_share(ledger.goal, best, view)
    worth = (settings.runs == inf) | (saved / have > took / settings.runs)
    worth &= view.affordable >= settings.caution
    if not worth.any():
        return Stop(reason="no measurement is expected to save what it takes")
    left = ledger.left
    taken = price / have + view.spend_s / left.time_s + view.spend_s * view.prices / left.cost
    pick = int(np.argmax(np.where(worth, gain / taken**settings.price_power, -1.0)))
    return Measure(
        configuration=space.offers[view.offers[pick]],
        limit=Limit(time_s=min(limit.time_s, float(view.cut_s[pick])), cost=limit.cost),
        reason=f"expected to save {saved[pick] / have:.1%} of the best found, "
        f"for {price[pick] / have:.2f} times what that takes",
    )


def _limited_share(goal: Goal, best: Trial, view: Outlook) -> Array:
    """What each measurement takes of that which is limited, beside running the best found."""
    share = np.zeros_like(view.spend_s)
    if goal.deadline_s < inf:
        share = np.maximum(share, view.spend_s / best.observation.time_s)
    if goal.budget < inf:
        share = np.maximum(share, view.spend_s * view.prices / best.run_cost)
    return share
