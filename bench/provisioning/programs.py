"""Simulated programs: what models and adaptive profiling are tuned on, instead of measured runs.

A program has a set-up that uses about one CPU, work that goes by a law of each of its numbers
(13 in 20 linear, 3 indifferent, 2 n log n, 2 of another power), speed-up that saturates,
sometimes an odd CPU count that does not pay, a need of memory, and scatter: some of it of the
whole run, some of the moment, which averages out over a longer run, and now and then a straggler.
It may report how far it is on its way to `n`, if its work goes by that at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from acai.provisioning.adaptive import Candidate, grid
from acai.provisioning.hints import Template, parse_template
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.progress import passed
from acai.provisioning.runtime.prediction import Prediction
from acai.provisioning.trials import Configuration, Outcome, Trial, Value

CPUS = (0.5, 1.0, 1.5, 2.0)
SCATTERS = (0.02, 0.04, 0.08)
_NUMBERS = ("n", "m")
_THOUSAND = 1000.0  # one of n in n log n, so that the logarithm does not begin at 0
_STRAGGLERS = 0.01
STRIDE = 1.0  # how far programs that report are from one report to the next


@dataclass(frozen=True, kw_only=True)
class Family:
    """A template, and the values that are asked about afterwards."""

    name: str
    template: Template
    asked: tuple[Mapping[str, Value], ...]

    def candidates(self) -> list[Candidate]:
        return grid(self.template, CPUS)


FAMILIES = (
    Family(
        name="one number",
        template=parse_template("run --n {1,2,3}"),
        asked=tuple({"n": n} for n in (5.0, 10.0, 20.0)),
    ),
    Family(
        name="a number and a choice",
        template=parse_template("run --n {1,2,5} --kind {a|b}"),
        asked=tuple({"n": n, "kind": kind} for n in (10.0, 20.0) for kind in ("a", "b")),
    ),
    Family(
        name="two numbers",
        template=parse_template("run --n {1,2,4} --m {1,3}"),
        asked=({"n": 4.0, "m": 6.0}, {"n": 16.0, "m": 3.0}, {"n": 16.0, "m": 6.0}),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Law:
    power: float
    logarithm: bool = False

    @classmethod
    def drawn(cls, draw: np.random.Generator) -> Law:
        kind = draw.random()
        if kind < 0.65:
            return cls(power=1.0)
        if kind < 0.8:
            return cls(power=0.0)
        if kind < 0.9:
            return cls(power=1.0, logarithm=True)
        return cls(power=float(draw.uniform(0.3, 1.6)))

    def of(self, n: float) -> float:
        growth = math.log(_THOUSAND * n) / math.log(_THOUSAND) if self.logarithm else 1.0
        return float(n**self.power) * growth


@dataclass(frozen=True, kw_only=True)
class Program:
    setup: float
    setup_gain: float  # the power by which CPUs beyond one shorten the set-up
    work: float
    laws: Mapping[str, Law]
    other: float  # how much longer the second choice works than the first
    below: float  # the power of CPUs below one
    saturation: float
    odd: float  # by how much 1.5 CPUs are slower than they should be
    peak_mb: float
    scatter: float  # of runs of usual length
    momentary: float  # the share of its variance that averages out
    usual_s: float

    @classmethod
    def drawn(cls, draw: np.random.Generator, scatter: float) -> Program:
        setup = float(np.exp(draw.uniform(math.log(1), math.log(30))))
        work = float(np.exp(draw.uniform(math.log(3), math.log(60))))
        return cls(
            setup=setup,
            setup_gain=draw.uniform(0, 0.3),
            work=work,
            laws={name: Law.drawn(draw) for name in _NUMBERS},
            other=float(np.exp(draw.normal(0, 0.5))),
            below=draw.uniform(0.95, 1.15),
            saturation=float(np.exp(draw.normal(math.log(0.2), 0.7))),
            odd=float(draw.choice([0.0, 0.0, draw.uniform(0.1, 0.4)])),
            peak_mb=draw.uniform(300, 900),
            scatter=scatter,
            momentary=draw.uniform(0, 1),
            usual_s=setup + 2 * work,
        )

    def seconds(self, cpu: float, values: Mapping[str, Value]) -> float:
        speed = cpu**self.below if cpu < 1 else cpu / (1 + self.saturation * (cpu - 1))
        if cpu == 1.5:
            speed /= 1 + self.odd
        work = self.work * (self.other if values.get("kind") == "b" else 1.0)
        for name in _NUMBERS:
            if name in values:
                work *= self.laws[name].of(float(values[name]))
        setup = self.setup / min(cpu, 1.0) / float(max(cpu, 1.0) ** self.setup_gain)
        return setup + work / float(speed)

    def scattered(self, seconds: float, draw: np.random.Generator) -> float:
        deviation = self.scatter * math.sqrt(1 - self.momentary + self._momentary(seconds))
        straggling = draw.uniform(1.3, 2.0) if draw.random() < _STRAGGLERS else 1.0
        return seconds * straggling * float(np.exp(draw.normal(0, deviation)))

    def _momentary(self, seconds: float) -> float:
        """Variance, of the whole scatter's, that is of the moment and averages out."""
        return self.momentary * min(self.usual_s / seconds, 10.0)

    def run(
        self,
        one: Candidate,
        draw: np.random.Generator,
        reporting: np.random.Generator | None = None,
    ) -> Trial:
        """With `reporting`, which is drawn from apart, it tells how far it is."""
        seconds = self.scattered(self.seconds(one.configuration.cpu, one.values), draw)
        killed = self.peak_mb > one.configuration.memory_mb
        return Trial(
            configuration=one.configuration,
            values=one.values,
            seconds=(0.2 if killed else 1.0) * seconds,
            outcome=Outcome.OUT_OF_MEMORY if killed else Outcome.FINISHED,
            peak_memory_mb=None if killed else self.peak_mb,
            passed=()
            if killed or reporting is None
            else passed(one.values, seconds, {"n": self._reports(one, seconds, reporting)}),
        )

    def _reports(
        self, one: Candidate, seconds: float, draw: np.random.Generator
    ) -> list[tuple[float, float]]:
        """How far, and when. What is of the moment is the less averaged the earlier it is."""
        if self.laws["n"].power == 0:
            return []
        end = float(one.values["n"])
        found = [(end, seconds)]
        usual = self.seconds(one.configuration.cpu, one.values)
        off = math.log(seconds / usual)
        for far in np.arange(end - STRIDE, 0, -STRIDE):
            earlier = self.seconds(one.configuration.cpu, {**one.values, "n": float(far)})
            more = max(self._momentary(earlier) - self._momentary(usual), 0.0)
            off += float(draw.normal(0, self.scatter * math.sqrt(more)))
            usual = earlier
            found.append((float(far), earlier * math.exp(off)))
        return found[::-1]


def numbered(number: int) -> tuple[Family, Program, np.random.Generator]:
    """The program of that number with its family, and what the rest of it is drawn from."""
    draw = np.random.default_rng(number)
    family = FAMILIES[number % len(FAMILIES)]
    return family, Program.drawn(draw, SCATTERS[number // len(FAMILIES) % len(SCATTERS)]), draw


def profiled(
    number: int, *, reporting: bool
) -> tuple[Family, Program, list[Trial], np.random.Generator]:
    """The same with every run of its grid."""
    family, program, draw = numbered(number)
    also = np.random.default_rng([number, 1]) if reporting else None
    return family, program, [program.run(one, draw, also) for one in family.candidates()], draw


@dataclass(frozen=True, kw_only=True)
class Exam:
    """What a program is asked after profiling: its true times, and one further run each."""

    where: tuple[Configuration, ...]
    values: tuple[Mapping[str, Value], ...]
    real: tuple[float, ...]
    again: tuple[float, ...]

    @classmethod
    def of(cls, program: Program, family: Family, draw: np.random.Generator) -> Exam:
        asked = [(cpu, values) for cpu in CPUS for values in family.asked]
        real = [program.seconds(cpu, values) for cpu, values in asked]
        return cls(
            where=tuple(Configuration(cpu=cpu, memory_mb=1024) for cpu, _ in asked),
            values=tuple(values for _, values in asked),
            real=tuple(real),
            again=tuple(program.scattered(seconds, draw) for seconds in real),
        )

    def errors(self, answer: Prediction) -> tuple[float, float]:
        """Mean absolute percentage error of the true time, and coverage of the further runs."""
        low, high = answer.interval(0.9)
        inside = (low <= self.again) & (self.again <= high)
        return float(np.mean(np.abs(answer.median / self.real - 1))), float(np.mean(inside))


def spent(trials: Sequence[Trial]) -> float:
    return sum(cost(DEFAULT_PRICES, one.configuration, one.seconds) for one in trials)
