"""The search for a deployment: which configuration to try next, when to stop, what to take.

`choose` decides and does nothing; `search` is the loop that measures what it is told to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from acai.model.errors import InvalidInput
from acai.provisioning.fleet.cloud import Cloud, Configuration, Limit, Observation
from acai.provisioning.fleet.goals import Goal
from acai.provisioning.fleet.improvement import (
    Array,
    absolute_improvement,
    chance_below,
    mean_above,
    relative_improvement,
    truncated_level,
)
from acai.provisioning.fleet.ledger import Ledger, Trial, closed_beyond, smallest_of_each
from acai.provisioning.fleet.surrogate import Belief, Prior, Space

_QUALITY = Prior(wiggle=1.5, slope=0.7, noise=0.3, speedup=0.0, cliff_share=0.0)
PRICE=0
CAUTION=0.0
ROOM=2/3
_HOPELESS = 0.01  # below this chance, looking for a first configuration that fits is over


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to search.

    openings            measurements taken from the smallest fleets before larger ones are open
    runs                how many runs the choice will serve: a measurement is worth its price
                        while what it is expected to save on all of them exceeds it; inf never
                        stops for that reason
    max_measurements    stop after so many
    price_power         0 ignores what a measurement costs, 1 divides the gain by it
    patience            a measurement is cut once the job there has taken this many times the
                        best found, since it can no longer win; inf lets it end
    margin              share by which the job may exceed its measurement and still fit
    opening_share       of all that may be spent, what one measurement may take while nothing
                        is known to fit
    """

    openings: int = 1
    runs: float = 10.0
    max_measurements: int | None = None
    price_power: float = 1.0
    patience: float = 1.2
    margin: float = 0.05
    opening_share: float = 0.48

    def __post_init__(self) -> None:
        if self.openings < 1 or self.runs <= 0 or self.patience < 1.0 or self.margin < 0:
            raise InvalidInput(
                "A search needs at least 1 opening, more than 0 runs, a patience of at least 1 "
                "and a margin of at least 0."
            )
        if not 0 < self.opening_share <= 1:
            raise InvalidInput("opening_share must lie above 0 and not above 1.")


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


class Knowledge:
    """The beliefs of one search: of run time, and of quality where the goal asks for it."""

    def __init__(self, space: Space, goal: Goal) -> None:
        self.space = space
        self.goal = goal
        self.prices = np.array([offer.price_per_hour / 3600.0 for offer in space.offers])
        self.known_spend = np.array(
            [np.nan if offer.measuring_s is None else offer.measuring_s for offer in space.offers]
        )
        self.share = np.array([offer.measuring_share for offer in space.offers])
        self.time = Belief(space)
        self.quality: Belief | None = None
        if goal.quality_at_least is not None:
            self.quality = Belief(Space(space.offers, prior=_QUALITY))

    def observe(self, seen: Observation) -> None:
        offer = self.space.index[seen.configuration]
        if seen.completed:
            self.time.observe(offer, log(seen.time_s))
        elif seen.time_s > 0:
            view = self.time.forecast()
            mean = float(view.weights @ view.mean[:, offer])
            second = view.spread[:, offer] ** 2 + (view.mean[:, offer] - mean) ** 2
            spread = float(view.weights @ second) ** 0.5
            # Before anything is known the tail is endless; a factor of two is guess enough.
            expected = mean_above(log(seen.time_s), mean, spread)
            self.time.observe(offer, min(expected, log(2.0 * seen.time_s)))
        if self.quality is not None and seen.quality is not None:
            self.quality.observe(offer, _log_odds(seen.quality))

    def chance_of_quality(self) -> Array:
        if self.quality is None or self.goal.quality_at_least is None:
            return np.ones(len(self.space.offers))
        view = self.quality.forecast()
        wanted = np.exp(_log_odds(self.goal.quality_at_least))
        chance: Array = view.weights @ (1.0 - chance_below(wanted, view.mean, view.spread))
        return chance


def choose(
    knowledge: Knowledge, ledger: Ledger, settings: Settings, random: np.random.Generator
) -> Measure | Stop:
    """Decide from what is known and spent. Draws from `random` only for the first opening."""
    count = len(ledger.trials)
    if settings.max_measurements is not None and count >= settings.max_measurements:
        return Stop(reason=f"{count} measurements were allowed")
    best = ledger.best()
    limit = _limit(ledger, best, settings)
    if limit.time_s <= 0 or limit.cost <= 0:
        return Stop(reason="what is left is reserved for running the best found")
    open_offers = _open(knowledge.space, ledger, settings)
    if not open_offers.size:
        return Stop(reason="every configuration that could help was tried")
    if not count:
        first = int(random.choice(_roomiest(knowledge.space, open_offers)))
        return Measure(
            configuration=knowledge.space.offers[first],
            limit=limit,
            reason="a smallest fleet to begin with",
        )
    if best is None:
        return _towards_a_first_fit(knowledge, ledger, settings, limit, open_offers)
    return _towards_a_better(knowledge, ledger, settings, best, limit, open_offers)


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
    space = space or Space(cloud.offers(), past=past)
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
    return _plan(ledger, step.reason)


def _plan(ledger: Ledger, stopped: str) -> Plan:
    best = ledger.best()
    return Plan(
        goal=ledger.goal,
        choice=best.configuration if best else None,
        run_s=best.observation.time_s if best else 0.0,
        run_cost=best.run_cost if best else 0.0,
        spent_s=ledger.spent_s,
        spent_cost=ledger.spent_cost,
        trials=ledger.trials,
        stopped=stopped,
    )


def _limit(ledger: Ledger, best: Trial | None, settings: Settings) -> Limit:
    """What the next measurement may use up, whichever it is."""
    may = ledger.spendable()
    if best is None:
        share = settings.opening_share
        return Limit(time_s=may.time_s * share, cost=may.cost * share)
    return may


def _roomiest(space: Space, offers: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The third with the most memory: there a job is least likely to crawl or to fail."""
    memory = np.array([space.offers[offer].memory_mb for offer in offers])
    return offers[memory >= np.quantile(memory, ROOM)]


def _open(space: Space, ledger: Ledger, settings: Settings) -> npt.NDArray[np.intp]:
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


@dataclass(frozen=True, kw_only=True)
class _Outlook:
    """Forecasts of the open offers: log run time per hypothesis, and limits of time."""

    weights: Array
    mean: Array
    spread: Array
    prices: Array
    cut_s: Array  # where a measurement would be cut
    useful_s: Array  # the longest run time with which the offer could still be chosen
    spend_s: Array
    quality: Array


def _outlook(
    knowledge: Knowledge,
    ledger: Ledger,
    limit: Limit,
    offers: npt.NDArray[np.intp],
    patience: float,
) -> _Outlook:
    goal, left, margin = ledger.goal, ledger.left, ledger.margin
    view = knowledge.time.forecast()
    mean, spread = view.mean[:, offers], view.spread[:, offers]
    prices, fixed = knowledge.prices[offers], knowledge.known_spend[offers]
    share, by_share = knowledge.share[offers], np.isnan(fixed)
    best = ledger.best()
    cut = np.minimum(limit.time_s, limit.cost / prices)
    if best is not None:
        worth = np.ones_like(prices) if goal.minimise == "time" else prices
        beaten = share * patience * best.objective(goal) / worth
        cut = np.where(by_share, np.minimum(cut, beaten), cut)
    remaining = np.minimum(left.time_s, left.cost / prices)
    measured = np.minimum(cut / share, remaining / (share + 1.0 + margin))
    after = (remaining - np.nan_to_num(fixed)) / (1.0 + margin)
    useful = np.where(by_share, measured, np.where(fixed <= cut, after, 0.0))
    useful = np.minimum(useful, np.minimum(goal.run_within_s, goal.run_cost_within / prices))
    spend = view.weights @ (share * truncated_level(cut / share, mean, spread))
    return _Outlook(
        weights=view.weights,
        mean=mean,
        spread=spread,
        prices=prices,
        cut_s=cut,
        useful_s=np.maximum(useful, 0.0),
        spend_s=np.where(by_share, spend, np.minimum(np.nan_to_num(fixed), cut)),
        quality=knowledge.chance_of_quality()[offers],
    )


def _towards_a_first_fit(
    knowledge: Knowledge,
    ledger: Ledger,
    settings: Settings,
    limit: Limit,
    offers: npt.NDArray[np.intp],
) -> Measure | Stop:
    """Nothing measured can be chosen yet: the likeliest to fit, for what it costs to see."""
    view = _outlook(knowledge, ledger, limit, offers, settings.patience)
    fits = view.weights @ chance_below(view.useful_s, view.mean, view.spread) * view.quality
    if fits.max() < _HOPELESS:
        return Stop(reason="no configuration is likely to fit what is left")
    price = view.spend_s * (view.prices if ledger.goal.minimise == "cost" else 1.0)
    pick = int(np.argmax(fits / price**settings.price_power))
    return Measure(
        configuration=knowledge.space.offers[offers[pick]],
        limit=limit,
        reason=f"fits with a chance of {fits[pick]:.0%}, and nothing yet does",
    )


def _towards_a_better(
    knowledge: Knowledge,
    ledger: Ledger,
    settings: Settings,
    best: Trial,
    limit: Limit,
    offers: npt.NDArray[np.intp],
) -> Measure | Stop:
    view = _outlook(knowledge, ledger, limit, offers, settings.patience)
    money = view.prices if ledger.goal.minimise == "cost" else np.ones_like(view.prices)
    have = best.objective(ledger.goal)
    mean = view.mean + np.log(money)
    edge = np.clip(view.useful_s * money, 1e-12, have)
    reach = chance_below(edge, mean, view.spread)
    share = np.log(have / edge) * reach + relative_improvement(edge, mean, view.spread)
    saving = (have - edge) * reach + absolute_improvement(edge, mean, view.spread)
    gain = (view.weights @ share) * view.quality
    saved = (view.weights @ saving) * view.quality
    price = view.spend_s * money
    dear = price
    if PRICE == 1:
        left = ledger.left
        dear = price/have + view.spend_s/left.time_s + view.spend_s*view.prices/left.cost
    if PRICE == 2:
        dear = view.spend_s*view.prices
    fits = (view.weights @ chance_below(view.useful_s, view.mean, view.spread)) * view.quality
    worth = (saved > price / settings.runs) & (fits >= CAUTION)
    if not worth.any():
        return Stop(reason="no measurement is expected to save what it costs")
    score = np.where(worth, gain / dear**settings.price_power, -1.0)
    pick = int(np.argmax(score))
    cut = view.cut_s[pick]
    return Measure(
        configuration=knowledge.space.offers[offers[pick]],
        limit=Limit(time_s=min(limit.time_s, cut), cost=limit.cost),
        reason=f"expected to save {saved[pick] / have:.1%} of the best for "
        f"{price[pick] / have:.2f} times its price",
    )


def _log_odds(quality: float) -> float:
    inside = min(max(quality, 0.01), 0.99)
    return log(inside / (1.0 - inside))
