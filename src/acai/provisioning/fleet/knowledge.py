"""What a search believes of every offer, and what trying one would take and could bring."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from acai.provisioning.fleet.cloud import Limit, Observation
from acai.provisioning.fleet.goals import Goal
from acai.provisioning.fleet.improvement import Array, chance_below, mean_above, truncated_level
from acai.provisioning.fleet.ledger import Ledger
from acai.provisioning.fleet.surrogate import Belief, Prior, Space

Numbers = npt.NDArray[np.intp]

_QUALITY = Prior(wiggle=0.5, slope=0.3, feature=1.5, noise=0.2, scales=0.0, cliff_share=0.0)


class Knowledge:
    """The beliefs of one search: of run time, and of quality where the goal asks for it."""

    def __init__(self, space: Space, goal: Goal) -> None:
        self.space = space
        self.goal = goal
        self.prices = np.array([offer.price_per_hour / 3600.0 for offer in space.offers])
        self.share = np.array([offer.measuring_share for offer in space.offers])
        self.fixed = np.array(
            [np.nan if offer.measuring_s is None else offer.measuring_s for offer in space.offers]
        )
        self.time = Belief(space)
        self.quality: Belief | None = None
        if goal.quality_at_least is not None:
            self.quality = Belief(Space(space.offers, prior=_QUALITY))

    def observe(self, seen: Observation) -> None:
        offer = self.space.index[seen.configuration]
        if seen.completed:
            self.time.observe(offer, log(seen.time_s))
        elif seen.time_s > 0:
            self.time.observe(offer, self._guess_above(offer, log(seen.time_s)))
        if self.quality is not None and seen.quality is not None:
            self.quality.observe(offer, _log_odds(seen.quality))

    def _guess_above(self, offer: int, bound: float) -> float:
        """The expected log time of a run that was cut at `bound`."""
        view = self.time.forecast()
        mean = float(view.weights @ view.mean[:, offer])
        second = view.spread[:, offer] ** 2 + (view.mean[:, offer] - mean) ** 2
        expected = mean_above(bound, mean, float(view.weights @ second) ** 0.5)
        # Before anything is known the tail has no end; twice the bound is guess enough.
        return min(expected, bound + log(2.0))

    def chance_of_quality(self) -> Array:
        if self.quality is None or self.goal.quality_at_least is None:
            return np.ones(len(self.space.offers))
        view = self.quality.forecast()
        wanted = np.exp(_log_odds(self.goal.quality_at_least))
        chance: Array = view.weights @ (1.0 - chance_below(wanted, view.mean, view.spread))
        return chance


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The offers that may be tried, seen from where a search stands.

    mean, spread   log of the objective, per hypothesis and offer
    unit           what one second of the job counts in the objective
    cut_s          where a measurement would be cut: it can then no longer be chosen
    edge           the largest objective with which the offer could still be chosen
    affordable     the chance that measuring it, and then running it, can be paid for
    fits           the chance of ending at or below the edge, with the quality asked for
    spend_s        the time that a measurement is expected to take
    """

    offers: Numbers
    weights: Array
    mean: Array
    spread: Array
    unit: Array
    prices: Array
    cut_s: Array
    edge: Array
    affordable: Array
    fits: Array
    quality: Array
    spend_s: Array


def look(
    knowledge: Knowledge, ledger: Ledger, limit: Limit, offers: Numbers, patience: float
) -> Outlook:
    goal, left, margin = ledger.goal, ledger.left, ledger.margin
    view = knowledge.time.forecast().likely()
    mean, spread = view.mean[:, offers], view.spread[:, offers]
    prices, share = knowledge.prices[offers], knowledge.share[offers]
    fixed = knowledge.fixed[offers]
    by_share, fixed = np.isnan(fixed), np.nan_to_num(fixed)
    unit = prices if goal.minimise == "cost" else np.ones_like(prices)

    cut = np.minimum(limit.time_s, limit.cost / prices)
    # What is left must pay for the measurement and then for the job, in time and in money.
    remaining = np.minimum(left.time_s, left.cost / prices)
    measured = np.minimum(cut / share, remaining / (share + 1.0 + margin))
    afterwards = np.where(fixed <= cut, (remaining - fixed) / (1.0 + margin), 0.0)
    payable = np.maximum(np.where(by_share, measured, afterwards), 1e-12)
    bound = np.minimum(goal.run_within_s, goal.run_cost_within / prices)
    useful = np.minimum(payable, bound)
    cut = np.where(by_share, np.minimum(cut, share * bound), cut)
    best = ledger.best()
    if best is not None:
        beaten = share * patience * best.objective(goal) / unit
        cut = np.where(by_share, np.minimum(cut, beaten), cut)

    quality = knowledge.chance_of_quality()[offers]
    spend = view.weights @ (share * truncated_level(cut / share, mean, spread))
    return Outlook(
        offers=offers,
        weights=view.weights,
        mean=mean + np.log(unit),
        spread=spread,
        unit=unit,
        prices=prices,
        cut_s=cut,
        edge=useful * unit,
        affordable=view.weights @ chance_below(payable, mean, spread),
        fits=(view.weights @ chance_below(useful, mean, spread)) * quality,
        quality=quality,
        spend_s=np.where(by_share, spend, np.minimum(fixed, cut)),
    )


def _log_odds(quality: float) -> float:
    inside = min(max(quality, 0.01), 0.99)
    return log(inside / (1.0 - inside))
