"""The run-time models, their choice and adaptive profiling on many simulated programs.

    python bench/provisioning/models.py [--programs 24]

A simulated program has a set-up, work that goes as a power of its one value (three in five
linear, one in five indifferent, one in five of another power), saturating speed-up, sometimes
an odd CPU count that does not pay, a need of memory, and scatter. It is profiled on the usual
grid and asked about values up to seven times larger. Constants of the models that are a matter
of taste (how likely a linear power is beforehand, when profiling is good enough) were settled
here and not on measured data.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tables import table

from acai.provisioning.adaptive import Candidate, Stop, grid, next_trials
from acai.provisioning.hints import parse_template
from acai.provisioning.pricing import DEFAULT_PRICES, cost
from acai.provisioning.runtime.selection import MODELS, fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Trial, finished

TEMPLATE = parse_template("run --n {1,2,3}")
CPUS = (0.5, 1.0, 1.5, 2.0)
ASKED = [(cpu, n) for cpu in CPUS for n in (5.0, 10.0, 20.0)]


@dataclass(frozen=True, kw_only=True)
class Program:
    setup: float
    work: float
    power: float
    saturation: float
    odd: float  # by how much 1.5 CPUs are slower than they should be
    peak_mb: float
    scatter: float

    @classmethod
    def drawn(cls, draw: np.random.Generator, scatter: float) -> Program:
        power = draw.choice([1.0, 1.0, 1.0, 0.0, draw.uniform(0.3, 1.5)])
        return cls(
            setup=draw.uniform(2, 30),
            work=draw.uniform(5, 60),
            power=float(power),
            saturation=float(np.exp(draw.normal(np.log(0.2), 0.7))),
            odd=float(draw.choice([0.0, draw.uniform(0.1, 0.4)])),
            peak_mb=draw.uniform(300, 900),
            scatter=scatter,
        )

    def seconds(self, cpu: float, n: float) -> float:
        speed = cpu if cpu < 1 else cpu / (1 + self.saturation * (cpu - 1))
        if cpu == 1.5:
            speed /= 1 + self.odd
        return self.setup / min(cpu, 1.0) + self.work * n**self.power / speed

    def run(self, one: Candidate, draw: np.random.Generator) -> Trial:
        seconds = self.seconds(one.configuration.cpu, float(one.values["n"]))
        killed = self.peak_mb > one.configuration.memory_mb
        return Trial(
            configuration=one.configuration,
            values=one.values,
            seconds=(0.2 if killed else 1) * seconds * float(np.exp(draw.normal(0, self.scatter))),
            outcome=Outcome.OUT_OF_MEMORY if killed else Outcome.FINISHED,
            peak_memory_mb=None if killed else self.peak_mb,
        )


def errors(
    program: Program, model: object, draw: np.random.Generator | None = None
) -> tuple[float, float]:
    """Mean absolute percentage error of the true time, and coverage of further runs."""
    where = [Configuration(cpu=cpu, memory_mb=1024) for cpu, _ in ASKED]
    answer = model.predict(where, [{"n": n} for _, n in ASKED])  # type: ignore[attr-defined]
    real = np.array([program.seconds(cpu, n) for cpu, n in ASKED])
    off = float(np.mean(np.abs(answer.median / real - 1)))
    if draw is None:
        return off, 0.0
    again = real * np.exp(draw.normal(0, program.scatter, len(real)))
    low, high = answer.interval(0.9)
    return off, float(np.mean((low <= again) & (again <= high)))


def profile(program: Program, draw: np.random.Generator) -> list[Trial]:
    candidates = grid(TEMPLATE, CPUS)
    done: list[Trial] = []
    while True:
        found = next_trials(candidates=candidates, trials=done, prices=DEFAULT_PRICES)
        if isinstance(found, Stop):
            return done
        done.extend(program.run(one, draw) for one in found.candidates)


def spent(trials: Sequence[Trial]) -> float:
    return sum(cost(DEFAULT_PRICES, one.configuration, one.seconds) for one in trials)


def measure(scatter: float, programs: int) -> list[str]:
    off: dict[str, list[float]] = {name: [] for name in (*MODELS, "chosen", "adaptive")}
    covered: list[float] = []
    shares: list[float] = []
    for seed in range(programs):
        draw = np.random.default_rng(seed)
        program = Program.drawn(draw, scatter)
        full = [program.run(one, draw) for one in grid(TEMPLATE, CPUS)]
        for name, fit in MODELS.items():
            off[name].append(errors(program, fit(finished(full), None))[0])
        error, inside = errors(program, fit_runtime(full), draw)
        off["chosen"].append(error)
        covered.append(inside)
        few = profile(program, draw)
        off["adaptive"].append(errors(program, fit_runtime(few))[0])
        shares.append(spent(few) / spent(full))
    return [
        f"{100 * scatter:.0f} %",
        *(f"{100 * np.mean(found):.1f} / {100 * np.median(found):.1f}" for found in off.values()),
        f"{100 * np.mean(covered):.0f} %",
        f"{100 * np.mean(shares):.0f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=24)
    options = parser.parse_args()
    print("mean / median over the programs of their mean absolute percentage errors")
    heads = ["scatter", *MODELS, "chosen", "adaptive", "in 90 %", "adaptive's cost"]
    table(heads, [measure(scatter, options.programs) for scatter in (0.03, 0.08)])


if __name__ == "__main__":
    main()
