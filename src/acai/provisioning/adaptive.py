"""Which profiling run to make next: the one that teaches most for what it costs.

A belief is fitted to the trials so far: the set-up-and-scaling trend in each form that it may
have, with its priors, and the kernel of the residual model. Each candidate would narrow the
predictions that matter (the targets) by an amount that does not depend on how long it turns out
to take, also by telling the forms apart; that amount per unit of predicted cost ranks the
candidates. A run of a program that reports how far it is shows shorter runs too. Profiling stops
when the targets are known well enough, when all that is on offer could not make them much better,
or when the budget is used up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from acai.model.errors import InvalidInput
from acai.provisioning.hints import Template
from acai.provisioning.memory import MemoryModel, fit_memory
from acai.provisioning.pricing import Prices, cost
from acai.provisioning.progress import NEARLY
from acai.provisioning.runtime.gaussian import Fitted, condition
from acai.provisioning.runtime.observed import READING, Observed
from acai.provisioning.runtime.residual import with_kernel
from acai.provisioning.runtime.scaling import likely_trends
from acai.provisioning.runtime.space import Space, different
from acai.provisioning.runtime.student import Floats
from acai.provisioning.trials import Configuration, Outcome, Trial, Value, finished

DEFAULT_CPUS = (0.5, 1.0, 2.0)
DEFAULT_MEMORIES_MB = (512.0, 1024.0, 2048.0)
TOLERANCE = 0.05  # the relative deviation of the targets at which the model is good enough
ENOUGH_DONE = 0.95  # the share of a grid that is waited for; the rest are stragglers
_REACH = 4.0  # targets lie at the largest values, and at this many times those
_TEACHABLE = 0.03  # the deviation that all the candidates together must still be able to remove,
_BESIDE = 0.5  # and as a share of the deviation that would stay
_MOST_ROWS = 2000  # runs and reports whose joint covariance is still cheap
_LITTLE = 0.01  # a candidate that lowers the targets' variance by less teaches nothing
_HOPELESS = 3  # failures without one success
_SUPPOSED = (math.log(0.12), math.log(0.04))  # amplitudes over CPUs and over everything
_SUPPOSED_LENGTH = math.log(1.5)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    configuration: Configuration
    values: Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Next:
    """Runs to make now, at once if there are several, with what they are expected to cost."""

    candidates: tuple[Candidate, ...]
    expected_cost: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class Stop:
    reason: str


def grid(
    template: Template,
    cpus: Sequence[float] = DEFAULT_CPUS,
    memories_mb: Sequence[float] = DEFAULT_MEMORIES_MB,
) -> list[Candidate]:
    """The full profiling grid: every CPU choice with every memory and every hinted value."""
    return [
        Candidate(configuration=Configuration(cpu=cpu, memory_mb=memory), values=values)
        for cpu in cpus
        for memory in memories_mb
        for values in template.combinations()
    ]


def grid_is_done(ended: int, total: int) -> bool:
    """Whether enough of a grid has ended to fit a model; what still runs may be cut."""
    return ended >= math.ceil(ENOUGH_DONE * total - 1e-9)


def next_trials(
    *,
    candidates: Sequence[Candidate],
    trials: Sequence[Trial],
    prices: Prices,
    budget: float | None = None,
    count: int = 1,
    tolerance: float = TOLERANCE,
    targets: Sequence[Candidate] | None = None,
    running: Sequence[Candidate] = (),
) -> Next | Stop:
    """What to run next, or why to stop.

    `trials` are all that is known, profiled or not; only profiled ones count against `budget`.
    `running` are started and not yet ended: they are not proposed again, and count as spent.
    With a `tolerance` of 0 nothing is good enough, and it goes on while runs teach anything.
    """
    if budget is not None and not (math.isfinite(budget) and budget > 0):
        raise InvalidInput(f"the profiling budget must be above 0, not {budget:g}")
    if not candidates:
        raise InvalidInput("there is nothing to profile: the grid of candidates is empty")
    memory = fit_memory(trials)
    open_ones = _open(candidates, trials, running, memory)
    if not open_ones:
        return Stop(reason="every candidate has been run")
    spent = sum(cost(prices, t.configuration, t.seconds) for t in trials if t.profiled)
    failed = sum(one.outcome is Outcome.FAILED for one in trials)
    if failed >= _HOPELESS and not finished(trials):
        return Stop(reason=f"{failed} runs failed and none finished; the command needs mending")
    if not finished(trials):
        return _first(open_ones, prices, budget, spent, running)
    belief = _Belief.of(candidates, trials, prices)
    left = math.inf if budget is None else budget - spent - float(belief.price(running).sum())
    return _choose(
        belief=belief,
        open_ones=open_ones,
        targets=list(targets or _targets(candidates)),
        left=left,
        count=count,
        tolerance=tolerance,
        running=running,
        seen_cpus={one.configuration.cpu for one in running}
        | {one.configuration.cpu for one in finished(trials)},
    )


def _open(
    candidates: Sequence[Candidate],
    trials: Sequence[Trial],
    running: Sequence[Candidate],
    memory: MemoryModel,
) -> list[Candidate]:
    """Candidates not yet tried that would probably survive."""
    tried = {_key(one.configuration, one.values) for one in trials}
    tried |= {_key(one.configuration, one.values) for one in running}
    left = [one for one in candidates if _key(one.configuration, one.values) not in tried]
    by_values: dict[object, list[Candidate]] = {}
    for one in left:
        by_values.setdefault(tuple(sorted(one.values.items())), []).append(one)
    killed = set()
    for alike in by_values.values():
        where = [one.configuration for one in alike]
        needed = memory.needed(where, alike[0].values, 0.5)
        for one, need in zip(alike, needed, strict=True):
            if need > one.configuration.memory_mb:
                killed.add(_key(one.configuration, one.values))
    return [one for one in left if _key(one.configuration, one.values) not in killed]


def _key(configuration: Configuration, values: Mapping[str, Value]) -> object:
    return configuration, tuple(sorted(values.items()))


def _first(
    open_ones: Sequence[Candidate],
    prices: Prices,
    budget: float | None,
    spent: float,
    running: Sequence[Candidate],
) -> Next | Stop:
    """With nothing finished yet: the smallest values, about one CPU, the most memory.

    The most memory because a first run that is killed teaches little, and one that ends well
    tells its peak.
    """
    if running:
        return Stop(reason="the first run has not ended yet")
    if budget is not None and spent >= budget:
        return Stop(reason="the budget is used up and no run has finished")

    def order(one: Candidate) -> tuple[float, float, float]:
        size = sum(math.log(max(v, 1e-9)) for v in one.values.values() if not isinstance(v, str))
        distance = abs(math.log(one.configuration.cpu))
        return (size, distance, -one.configuration.memory_mb)

    chosen = min(open_ones, key=order)
    return Next(
        candidates=(chosen,),
        expected_cost=math.nan,
        reason="a first, small run, to learn how long runs take and how much memory they need",
    )


def _targets(candidates: Sequence[Candidate]) -> list[Candidate]:
    """What people will ask: every CPU choice, at the largest values and well beyond them."""
    names = [n for n, v in candidates[0].values.items() if not isinstance(v, str)]
    most = {n: max(float(one.values[n]) for one in candidates) for n in names}
    words = {tuple(sorted((n, v) for n, v in c.values.items() if n not in names)): c for c in
             candidates}  # fmt: skip
    memory = max(one.configuration.memory_mb for one in candidates)
    return [
        Candidate(
            configuration=Configuration(cpu=cpu, memory_mb=memory),
            values={**one.values, **{n: most[n] * reach for n in names}},
        )
        for cpu in sorted({one.configuration.cpu for one in candidates})
        for one in words.values()
        for reach in (1.0, _REACH)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Belief:
    fitted: Fitted
    prices: Prices
    stride: Mapping[str, float]  # how far runs are at their first report; {} where they have none

    @classmethod
    def of(
        cls, candidates: Sequence[Candidate], trials: Sequence[Trial], prices: Prices
    ) -> _Belief:
        done = finished(trials)
        imagined = [
            Trial(configuration=one.configuration, values=one.values, seconds=1.0)
            for one in candidates
        ]
        space = Space.of([*imagined, *done])
        trends, weighed = likely_trends(_as_run(space, done), Observed.of(space, done))
        dimensions = 2 + len(space.numbers) + len(space.choices)
        settings = np.array([*_SUPPOSED, *[_SUPPOSED_LENGTH] * dimensions])
        fitted = condition(
            name="belief",
            space=space,
            candidates=with_kernel(trends, settings),
            observed=weighed,
        )
        return cls(fitted=fitted, prices=prices, stride=_stride(done))

    def price(self, candidates: Sequence[Candidate]) -> Floats:
        """Expected cost of each."""
        if not candidates:
            return np.zeros(0)
        prediction = self.fitted.predict(
            [one.configuration for one in candidates], [one.values for one in candidates]
        )
        hourly = np.array([self.prices.hourly(one.configuration) for one in candidates])
        return np.asarray(prediction.mean * hourly / 3600, dtype=np.float64)

    def outlook(self, runs: Sequence[Candidate], targets: Sequence[Candidate]) -> _Outlook:
        """What is known of them, and what each of the runs would show: itself, and what it is
        expected to report on its way."""
        first = {row: one for row, run in enumerate(runs) if (one := self._first(run)) is not None}
        if len(runs) + len(first) > _MOST_ROWS:
            first = {}
        of = [*runs, *targets, *first.values()]
        at = self.fitted.space.encode([one.configuration for one in of], [one.values for one in of])
        shown = [np.array([row]) for row in range(len(runs))]
        for place, row in enumerate(first, start=len(runs) + len(targets)):
            shown[row] = np.array([row, place])
        noise = self.fitted.noise_at(at)
        noise[len(runs) + len(targets) :] *= 1 + READING
        return _Outlook(
            joint=self.fitted.covariance(at, at),
            noise=noise,
            shown=shown,
            aims=np.arange(len(runs), len(runs) + len(targets)),
        )

    def _first(self, run: Candidate) -> Candidate | None:
        for name, far in self.stride.items():
            if far <= NEARLY * float(run.values[name]):
                return replace(run, values={**run.values, name: far})
        return None


def _stride(done: Sequence[Trial]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for one in done:
        if one.passed:
            for name, value in one.passed[0].values.items():
                if value != one.values[name]:
                    found.setdefault(name, []).append(float(value))
    return {name: float(np.median(several)) for name, several in found.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Outlook:
    """The covariance of the log run times of runs, of targets, and of what runs would report."""

    joint: Floats
    noise: Floats  # the variance by which each row scatters
    shown: Sequence[NDArray[np.int64]]  # of each run, the rows that it shows: itself first
    aims: NDArray[np.int64]  # the targets' rows

    @property
    def deviation(self) -> float:
        return math.sqrt(max(float(np.mean(np.diag(self.joint)[self.aims])), 0.0))

    def gains(self, runs: Sequence[int]) -> Floats:
        """By what share each of the runs would lower the mean variance of the targets."""
        lowered = []
        for run in runs:
            rows = self.shown[run]
            cross = self.joint[np.ix_(rows, self.aims)]
            lowered.append(float((cross * np.linalg.solve(self._seen([rows]), cross)).sum()))
        total = np.diag(self.joint)[self.aims].sum()
        return np.asarray(np.array(lowered) / total, dtype=np.float64)

    def after(self, run: int) -> _Outlook:
        """Once that run has been made."""
        rows = self.shown[run]
        cross = self.joint[rows]
        known = cross.T @ np.linalg.solve(self._seen([rows]), cross)
        return replace(self, joint=self.joint - known)

    def deviation_after_all(self, runs: Sequence[int]) -> float:
        """The targets' deviation if all of these runs were made."""
        shown = [self.shown[run] for run in runs]
        cross = self.joint[np.ix_(np.concatenate(shown), self.aims)]
        known = np.einsum("ij,ij->j", cross, np.linalg.solve(self._seen(shown), cross))
        return math.sqrt(max(float((np.diag(self.joint)[self.aims] - known).mean()), 0.0))

    def _seen(self, runs: Sequence[NDArray[np.int64]]) -> Floats:
        """The covariance of what these runs show, noise included: what a run has reported on its
        way shares the noise of the whole run."""
        rows = np.concatenate(runs)
        counts = [len(shown) for shown in runs]
        run = np.repeat(np.arange(len(runs)), counts)
        shared = np.repeat(self.noise[[shown[0] for shown in runs]], counts)
        noise = np.where(np.equal.outer(run, run), shared, 0.0)
        seen = self.joint[np.ix_(rows, rows)] + noise + np.diag(self.noise[rows] - shared)
        return np.asarray(seen, dtype=np.float64)


def _as_run(space: Space, done: Sequence[Trial]) -> Space:
    """The same space, knowing how many different values were really run: a power can only be
    told from one that is taken for granted where its value varied."""
    numbers = tuple(
        replace(number, distinct=different(number.name, done)) for number in space.numbers
    )
    return replace(space, numbers=numbers)


def _choose(
    *,
    belief: _Belief,
    open_ones: Sequence[Candidate],
    targets: Sequence[Candidate],
    left: float,
    count: int,
    tolerance: float,
    running: Sequence[Candidate],
    seen_cpus: set[float],
) -> Next | Stop:
    outlook = belief.outlook([*running, *open_ones], targets)
    for run in range(len(running)):
        outlook = outlook.after(run)
    runs = range(len(running), len(running) + len(open_ones))
    deviation = outlook.deviation
    at_best = outlook.deviation_after_all(runs)
    teachable = math.sqrt(max(deviation**2 - at_best**2, 0.0))
    near = tolerance > 0 and teachable <= max(_TEACHABLE, _BESIDE * at_best)
    open_rows = np.ones(len(open_ones), dtype=np.bool_)
    if deviation <= tolerance or near:
        # A CPU choice that was never run may be the odd one: belief alone does not settle it.
        open_rows = np.array([one.configuration.cpu not in seen_cpus for one in open_ones])
    if not open_rows.any():
        reason = f"predictions are good to {100 * deviation:.1f} %"
        if deviation > tolerance:
            left_over = "the one run" if len(runs) == 1 else f"all the {len(runs)} runs"
            reason += f", and {left_over} left would only bring {100 * at_best:.1f} %"
        return Stop(reason=reason)
    prices = belief.price(open_ones)
    picked: list[int] = []
    total = 0.0
    for _ in range(count):
        gains = outlook.gains(runs)
        allowed = open_rows & (prices + total <= left)
        allowed[picked] = False
        worth = np.where(allowed & (gains >= _LITTLE), gains / prices, 0.0)
        best = int(np.argmax(worth))
        if worth[best] <= 0:
            break
        picked.append(best)
        total += float(prices[best])
        outlook = outlook.after(runs[best])
    if not picked:
        return _nothing(gains, prices, left, deviation)
    return Next(
        candidates=tuple(open_ones[place] for place in picked),
        expected_cost=total,
        reason=f"to bring predictions from {100 * deviation:.0f} %"
        f" to {100 * outlook.deviation:.0f} %",
    )


def _nothing(gains: Floats, prices: Floats, left: float, deviation: float) -> Stop:
    known = f"predictions are good to {100 * deviation:.0f} %"
    if (gains < _LITTLE).all():
        return Stop(reason=f"no run on offer would teach much more; {known}")
    return Stop(
        reason=f"the budget is used up: the cheapest useful run would cost "
        f"{prices[gains >= _LITTLE].min():.4g} and {max(left, 0):.4g} are left; {known}"
    )
