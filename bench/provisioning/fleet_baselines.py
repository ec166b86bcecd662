"""Searches to compare with: CherryPick-like, plain Bayesian optimisation, random.

All see the same features. None knows what a measurement costs. `CHERRYPICK` follows its paper:
three spread starting points, a Gaussian process over the logarithm, expected improvement times
the chance that the job alone meets its constraint, and an end when that improvement falls below
a tenth, but not before six measurements. `PLAIN` starts at random, models the objective as it
is, and ends below one hundredth or at thirty measurements, the length of the published runs.
With `aware`, either also stops before it would eat into what running its best would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from acai.provisioning.fleet import Cloud, Configuration, Goal, Limit, Plan, Trial
from acai.provisioning.fleet.improvement import (
    Array,
    chance_below,
    normal_cdf,
    normal_pdf,
    relative_improvement,
)
from acai.provisioning.fleet.ledger import Ledger
from acai.provisioning.matern import matern

GUESSES = 160  # hyper-parameters tried per step; the likeliest is taken


@dataclass(frozen=True, kw_only=True)
class Rule:
    name: str
    logarithm: bool
    spread_start: bool
    start: int
    least: int
    most: int
    threshold: float
    aware: bool = False


CHERRYPICK = Rule(
    name="CherryPick-like",
    logarithm=True,
    spread_start=True,
    start=3,
    least=6,
    most=30,
    threshold=0.10,
)
PLAIN = Rule(
    name="plain BO",
    logarithm=False,
    spread_start=False,
    start=3,
    least=3,
    most=30,
    threshold=0.01,
)
RANDOM = Rule(
    name="random, 10",
    logarithm=True,
    spread_start=False,
    start=10,
    least=10,
    most=10,
    threshold=0.0,
)


class Features:
    """Offers scaled to the unit cube, with correlation guesses drawn once."""

    def __init__(self, offers: Sequence[Configuration]) -> None:
        names = sorted({name for offer in offers for name in offer.features})
        columns = [
            np.log2([offer.count for offer in offers]),
            np.log2([offer.cpu for offer in offers]),
            np.log2([offer.memory_mb / offer.cpu for offer in offers]),
            *(np.array([offer.features.get(name, 0.0) for offer in offers]) for name in names),
        ]
        self.points = np.stack([(c - c.min()) / max(np.ptp(c), 1e-9) for c in columns], axis=1)
        random = np.random.default_rng(0)
        self.lengths = np.exp(
            random.uniform(np.log(0.15), np.log(5.0), (GUESSES, self.points.shape[1]))
        )
        self.noise = np.exp(random.uniform(np.log(1e-4), np.log(0.1), GUESSES))

    def correlation(self, guesses: Array, rows: Array, columns: Array) -> Array:
        apart = (rows[:, None] - columns[None]) ** 2
        return matern(np.einsum("gd,rcd->grc", 1.0 / guesses**2, apart))

    def fit(self, tried: Sequence[int], values: Array) -> tuple[Array, Array]:
        """Mean and spread over all offers, by the guess of the greatest likelihood."""
        seen = self.points[list(tried)]
        centre, scale = values.mean(), max(float(values.std()), 1e-9)
        target = (values - centre) / scale
        matrix = self.correlation(self.lengths, seen, seen)
        matrix = matrix + (self.noise[:, None] + 1e-8)[:, :, None] * np.eye(len(target))
        factor = np.linalg.cholesky(matrix)
        right = np.broadcast_to(target[:, None], (GUESSES, len(target), 1))
        half = np.linalg.solve(factor, right)[:, :, 0]
        variance = (half**2).mean(axis=1)
        likelihood = -0.5 * len(target) * np.log(variance) - np.log(
            np.diagonal(factor, axis1=1, axis2=2)
        ).sum(axis=1)
        best = int(np.argmax(likelihood))
        cross = self.correlation(self.lengths[best : best + 1], seen, self.points)[0]
        solved = np.linalg.solve(factor[best], cross)
        mean = centre + scale * (half[best] @ solved)
        left = np.maximum(1.0 - (solved**2).sum(axis=0), 1e-9)
        return mean, scale * np.sqrt(variance[best] * left)


def baseline(
    cloud: Cloud, goal: Goal, rule: Rule, *, seed: int, features: Features | None = None
) -> Plan:
    offers = cloud.offers()
    features = features or Features(offers)
    random = np.random.default_rng(seed)
    alone = replace(
        goal,
        run_within_s=min(goal.deadline_s, goal.run_within_s),
        run_cost_within=min(goal.budget, goal.run_cost_within),
    )
    if not rule.aware:
        alone = replace(alone, deadline_s=inf, budget=inf)
    ledger = Ledger(goal=alone, margin=0.0)
    queue = _start(features, rule, random)
    stopped = "the most measurements"
    while len(ledger.trials) < min(rule.most, len(offers)):
        if queue:
            pick = queue.pop(0)
        else:
            pick, improvement = _next(features, offers, ledger, rule, alone)
            if len(ledger.trials) >= rule.least and improvement < rule.threshold:
                stopped = "little improvement left"
                break
        limit = Limit()
        if rule.aware:
            may = ledger.spendable()
            half = 1.0 if ledger.best() else 0.5
            limit = Limit(time_s=may.time_s * half, cost=may.cost * half)
        seen = cloud.measure(offers[pick], limit)
        trial = Trial(configuration=offers[pick], observation=seen, limit=limit, reason="")
        ledger = ledger.after(trial)
        if not seen.completed and ledger.best():
            stopped = "out of budget or time"
            break
    best = ledger.best()
    return Plan(
        goal=goal,
        choice=best.configuration if best else None,
        run_s=best.observation.time_s if best else 0.0,
        run_cost=best.run_cost if best else 0.0,
        spent_s=ledger.spent_s,
        spent_cost=ledger.spent_cost,
        trials=ledger.trials,
        stopped=stopped,
    )


def _start(features: Features, rule: Rule, random: np.random.Generator) -> list[int]:
    count = len(features.points)
    if not rule.spread_start:
        return [int(pick) for pick in random.permutation(count)[: rule.start]]
    picks = [int(random.integers(count))]
    while len(picks) < rule.start:
        apart = ((features.points[:, None] - features.points[picks][None]) ** 2).sum(-1)
        # Jitter settles ties, so that repeats differ.
        picks.append(int(np.argmax(apart.min(axis=1) + random.uniform(0, 0.2, count))))
    return picks


def _next(
    features: Features, offers: Sequence[Configuration], ledger: Ledger, rule: Rule, goal: Goal
) -> tuple[int, float]:
    """The untried offer of the greatest improvement, and that improvement as a share."""
    index = {offer.name: number for number, offer in enumerate(offers)}
    tried = [index[trial.configuration.name] for trial in ledger.trials]
    prices = np.array([offer.price_per_hour / 3600.0 for offer in offers])
    money = prices if goal.minimise == "cost" else np.ones_like(prices)
    times = np.array([trial.observation.time_s for trial in ledger.trials])
    mean, spread = features.fit(tried, np.log(times))
    useful = np.minimum(goal.run_within_s, goal.run_cost_within / prices)
    chance = chance_below(useful, mean, spread)
    best = ledger.best()
    have = best.objective(goal) if best else float((times * money[tried]).max())
    if rule.logarithm:
        share = relative_improvement(have, mean + np.log(money), spread)
    else:
        level, width = features.fit(tried, times * money[tried])
        score = (have - level) / width
        share = ((have - level) * normal_cdf(score) + width * normal_pdf(score)) / have
    share = share * chance
    if goal.quality_at_least is not None:
        quality = np.array([trial.observation.quality or 0.0 for trial in ledger.trials])
        level, width = features.fit(tried, quality)
        share = share * (1.0 - normal_cdf((goal.quality_at_least - level) / width))
    share[tried] = -1.0
    pick = int(np.argmax(share))
    return pick, float(share[pick])
