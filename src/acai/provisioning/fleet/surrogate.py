"""What is believed of a job's behaviour over every offer, and how one measurement changes it.

A Gaussian process over the logarithm of run time. Instead of one best guess of its
hyper-parameters it carries a few dozen drawn from a prior, and weighs them by how well each
explained what was measured: with three points a single maximum of the likelihood is mostly
luck, and the average is not. Conditioning adds one row to a Cholesky factor that already
reaches over all offers, so a step costs (hypotheses x measurements x offers) and needs no
solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from acai.model.errors import InvalidInput
from acai.provisioning.fleet.cloud import Configuration
from acai.provisioning.matern import matern

Array = npt.NDArray[np.float64]

_LEVEL_VARIANCE = 25.0  # of log time: nothing is known of how long the job takes as such
_JITTER = 1e-9
_RULED_OUT = 1e-6


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The distributions that hypotheses are drawn from. Spreads of log time; distances in
    doublings (of count, of CPU, of memory per CPU) or in the features' own unit.

    A share `serial` of the job on the smallest offer does not shrink with more CPUs; the rest
    shrinks with their number to the power of `speedup`. `scales` is 0 for what has no such law.
    `cliff_share` of the hypotheses hold that the job runs in another regime once the fleet's
    memory, as a whole, exceeds some amount: what was read again from disk then stays in memory.
    `feature` is how much features may matter, of which nothing is known beforehand.
    """

    hypotheses: int = 96
    length: float = 1.1
    wiggle: float = 0.16
    slope: float = 0.1
    noise: float = 0.056
    serial: tuple[float, float] = (0.003, 0.3)
    speedup: float = 0.85
    scales: float = 1.0
    cliff_share: float = 0.95
    cliff_height: float = 0.72
    cliff_width: float = 0.07
    cliff_drop: float = 1.0
    feature: float = 0.7
    past_share: float = 0.75
    past_scale: float = 0.7
    past_wiggle: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Per hypothesis and offer: normal distributions, and what each hypothesis weighs."""

    weights: Array
    mean: Array
    spread: Array

    def likely(self) -> Forecast:
        """Without the hypotheses that what was measured has all but ruled out."""
        kept = self.weights > _RULED_OUT * self.weights.max()
        weights = self.weights[kept]
        return Forecast(
            weights=weights / weights.sum(), mean=self.mean[kept], spread=self.spread[kept]
        )


class Space:
    """The offers as numbers, and the hypotheses over them: built once, shared by searches.

    `past` holds earlier jobs' run times by configuration name; where there are any, most
    hypotheses expect the new job to behave like a mixture of those.
    """

    def __init__(
        self,
        offers: Sequence[Configuration],
        *,
        prior: Prior | None = None,
        past: Sequence[Mapping[str, float]] = (),
        seed: int = 0,
    ) -> None:
        if not offers:
            raise InvalidInput("The cloud offers no configuration; nothing can be searched.")
        self.offers = tuple(offers)
        self.index = {offer.name: number for number, offer in enumerate(self.offers)}
        if len(self.index) != len(self.offers):
            raise InvalidInput("Two configurations of the cloud have the same name.")
        self.prior = prior or Prior()
        self._points = _coordinates(self.offers)
        self._features = _features(self.offers)
        self._draw(np.random.default_rng(seed))
        self._curves = np.zeros((0, len(self.offers)))
        if past:
            self._learn(past)

    @property
    def size(self) -> int:
        return self.prior.hypotheses

    def _draw(self, random: np.random.Generator) -> None:
        prior, count = self.prior, self.prior.hypotheses

        def around(centre: float, *shape: int) -> Array:
            return centre * np.exp(random.normal(0.0, 0.6, (count, *shape)))

        self._length = around(prior.length, self._points.shape[1])
        self._feature_length = around(1.0, self._features.shape[1])
        self._feature = around(prior.feature if self._features.shape[1] else 0.0)
        self._wiggle = around(prior.wiggle)
        self._slope = around(prior.slope)
        self.noise = around(prior.noise)
        memory = np.log2([offer.memory_mb * offer.count for offer in self.offers])
        # Spread evenly, so that no amount of memory is left without a hypothesis.
        places = (random.permutation(count) + random.random(count)) / count
        edges = memory.min() - 0.5 + places * (np.ptp(memory) + 0.5)
        heights = around(prior.cliff_height) * (random.random(count) < prior.cliff_share)
        exponent = np.clip((edges[:, None] - memory) / prior.cliff_width, -50.0, 50.0)
        self._cliff = heights[:, None] / (1.0 + np.exp(exponent))
        self._past = np.zeros(count)
        self._mean: Array = self._ideal(random) - prior.cliff_drop * self._cliff

    def _ideal(self, random: np.random.Generator) -> Array:
        """Log time over offers if nothing but a serial share stood against scaling."""
        prior, count = self.prior, self.prior.hypotheses
        fewest, most = (log(share) for share in prior.serial)
        serial = np.exp(fewest + (most - fewest) * (random.permutation(count) + 0.5) / count)
        cpus = np.array([offer.cpu * offer.count for offer in self.offers])
        scaling = (1.0 - serial)[:, None] * (cpus / cpus.min()) ** -prior.speedup
        scaled = np.log(serial[:, None] + scaling)
        ideal: Array = prior.scales * (scaled - scaled.mean(axis=1, keepdims=True))
        return ideal

    def _learn(self, past: Sequence[Mapping[str, float]]) -> None:
        rows = np.log([list(self.complete(times).values()) for times in past])
        rows -= rows.mean(axis=1, keepdims=True)
        typical = rows.mean(axis=0)
        self._curves = (rows - typical) / max(1.0, len(rows) - 1.0) ** 0.5
        believers = np.arange(self.size) < self.prior.past_share * self.size
        self._past = np.where(believers, self.prior.past_scale, 0.0)
        self._wiggle = np.where(believers, self.prior.past_wiggle, 1.0) * self._wiggle
        self._slope = np.where(believers, self.prior.past_wiggle, 1.0) * self._slope
        self._cliff *= np.where(believers, self.prior.past_wiggle, 1.0)[:, None]
        self._mean = np.where(believers[:, None], typical, self._mean)

    def complete(self, times: Mapping[str, float]) -> dict[str, float]:
        """An earlier job's run time on every offer, in order, guessed where not measured."""
        known = {self.index[name]: log(time) for name, time in times.items() if name in self.index}
        if not known:
            raise InvalidInput("An earlier job shares no configuration with what is offered.")
        filled: Array = np.zeros(len(self.offers))
        if len(known) < len(self.offers):
            belief = Belief(self)
            for offer, value in known.items():
                belief.observe(offer, value)
            forecast = belief.forecast()
            filled = forecast.weights @ forecast.mean
        return {
            offer.name: times.get(offer.name, float(np.exp(filled[number])))
            for number, offer in enumerate(self.offers)
        }

    def mean(self) -> Array:
        return self._mean

    def covariance(self, offer: int) -> Array:
        """Of every hypothesis, between one offer and all: (hypotheses, offers)."""
        centred = self._points - self._points.mean(axis=0)
        along = centred @ centred[offer]
        found: Array = (
            _LEVEL_VARIANCE
            + (self._wiggle**2)[:, None] * _nearness(self._points, offer, self._length)
            + (self._feature**2)[:, None] * _nearness(self._features, offer, self._feature_length)
            + (self._slope**2)[:, None] * along
            + self._cliff * self._cliff[:, offer : offer + 1]
            + (self._past**2)[:, None] * (self._curves.T @ self._curves[:, offer])
        )
        return found

    def variance(self) -> Array:
        centred = self._points - self._points.mean(axis=0)
        found: Array = (
            _LEVEL_VARIANCE
            + (self._wiggle**2)[:, None]
            + (self._feature**2)[:, None]
            + (self._slope**2)[:, None] * (centred**2).sum(axis=1)
            + self._cliff**2
            + (self._past**2)[:, None] * (self._curves**2).sum(axis=0)
        )
        return found


class Belief:
    """A space conditioned on the measurements given so far."""

    def __init__(self, space: Space) -> None:
        self._space = space
        count = len(space.offers)
        self._rows = np.zeros((0, space.size, count))
        self._mean = np.broadcast_to(space.mean(), (space.size, count)).copy()
        self._variance = space.variance()
        self._evidence = np.zeros(space.size)

    def observe(self, offer: int, value: float) -> None:
        """Take in that the logarithm of run time on this offer is `value`."""
        explained = np.einsum("ks,kso->so", self._rows[:, :, offer], self._rows)
        left = self._variance[:, offer] + self._space.noise**2
        pivot = np.sqrt(left)
        row = (self._space.covariance(offer) - explained) / pivot[:, None]
        pull = (value - self._mean[:, offer]) / pivot
        self._evidence -= 0.5 * pull**2 + np.log(pivot)
        self._mean += row * pull[:, None]
        self._variance = np.maximum(self._variance - row**2, _JITTER)
        self._rows = np.concatenate([self._rows, row[None]])

    def forecast(self) -> Forecast:
        weights = np.exp(self._evidence - self._evidence.max())
        return Forecast(
            weights=weights / weights.sum(),
            mean=self._mean,
            spread=np.sqrt(self._variance),
        )


def _nearness(points: Array, offer: int, length: Array) -> Array:
    """The correlation of one offer with all, per hypothesis."""
    apart = (points - points[offer]) ** 2
    return matern((1.0 / length**2) @ apart.T)


def _coordinates(offers: Sequence[Configuration]) -> Array:
    """Count, CPU and memory per CPU in doublings, then the features."""
    columns = [
        np.log2([offer.count for offer in offers]),
        np.log2([offer.cpu for offer in offers]),
        np.log2([offer.memory_mb / offer.cpu for offer in offers]),
        *_features(offers).T,
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _features(offers: Sequence[Configuration]) -> Array:
    names = sorted({name for offer in offers for name in offer.features})
    rows = [[offer.features.get(name, 0.0) for name in names] for offer in offers]
    return np.array(rows, dtype=np.float64).reshape(len(offers), len(names))
