"""Templates and plans: profile a command, look at what was learnt, provision a run of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from acai.model.errors import InvalidInput, TemplateNotFound
from acai.model.identity import Principal
from acai.model.jobs import Capacity, JobRequest, JobState, OutputSpec
from acai.model.references import validate_set_name
from acai.model.templates import (
    PlanExclusion,
    PlanOption,
    ProfileRequest,
    Progress,
    ProvisionPlan,
    ProvisionRequest,
    Spending,
    SurfacePoint,
    Template,
    TemplateDetail,
    TemplateParameter,
    TemplateStatus,
    TrialPoint,
)
from acai.provisioning import adaptive, hints
from acai.provisioning.learning import (
    PROFILE,
    PROFILING_RANK,
    Learner,
    Models,
    Run,
    argument,
    family,
    parsed,
    plain_command,
    runs_of,
    teaching,
)
from acai.provisioning.optimiser import (
    Exclusion,
    Goal,
    Optimise,
    Option,
    Plan,
    configuration_grid,
    provision,
)
from acai.provisioning.ports import Jobs, Pin
from acai.provisioning.pricing import Prices, cost
from acai.provisioning.trials import MIB, Configuration, Trial, Value
from acai.stores.records import templates as records
from acai.stores.records.database import Database, Transaction
from acai.stores.records.templates import TemplateRow

_BY = ("user", "template", "tag", "day", "project")
_MOST_CANDIDATES = 5000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Provisioning:
    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        prices: Prices,
        *,
        pin: Pin,
        clock: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._prices = prices
        self._pin = pin
        self._clock = clock
        self._wake = wake
        self._learner = Learner()

    def profile(self, caller: Principal, request: ProfileRequest) -> Template:
        """Begin to profile a command; or go on, if the template is there with the same command."""
        validate_set_name(request.template_name)
        template = hints.parse_template(request.command_template)
        request = _within(request, self._jobs.capacity())
        _check(request, template)
        pinned = self._pin(caller, request.input, request.code)
        request = replace(
            request,
            input=tuple(one.ref for one in pinned.inputs),
            code=None if pinned.code is None else pinned.code.place.spec,
        )
        stored = {
            "command": request.command_template,
            "request": PROFILE.dump_json(request).decode(),
            "plan": json.dumps({"family": family(template, request)}),
        }
        with self._database.write(caller.project) as tx:
            row = records.find(tx, request.template_name)
            if row is not None and plain_command(parsed(row)) == plain_command(template):
                records.restart(tx, row.id, **stored, status=TemplateStatus.PROFILING.value)
            else:
                records.add(
                    tx,
                    user=caller.user_id,
                    name=request.template_name,
                    **stored,
                    status=TemplateStatus.PROFILING.value,
                    now=self._clock(),
                )
            shown = self._shown(tx, _found(tx, request.template_name))
        self._wake()
        return shown

    def list(self, caller: Principal, *, after: str, limit: int) -> Sequence[Template]:
        with self._database.read(caller.project) as tx:
            return [self._shown(tx, row) for row in records.page(tx, after=after, limit=limit)]

    def find(self, caller: Principal, name: str) -> TemplateDetail:
        """A template with every run that teaches it, and what the model says of each."""
        with self._database.read(caller.project) as tx:
            row = _found(tx, name)
            shown = self._shown(tx, row)
            runs = teaching(tx, row, parsed(row))
        models = self._models_if_any(runs)
        return TemplateDetail(
            **{key: getattr(shown, key) for key in Template.__dataclass_fields__},
            points=tuple(_points(runs, models)),
            model=None if models is None else models.runtime.name,
            explanation=None
            if models is None
            else f"{models.runtime.explain()} {models.memory.explain()}",
            error=None if models is None else models.runtime.score.error,
        )

    def provision(self, caller: Principal, request: ProvisionRequest) -> ProvisionPlan:
        """Choose resources for a run of the template, and unless it is only planned submit it."""
        goal = _goal(request)
        with self._database.read(caller.project) as tx:
            row = _found(tx, request.template_name)
            template = parsed(row)
            runs = teaching(tx, row, template)
        given = request.values
        values = template.bind(list(given) if not isinstance(given, Mapping) else dict(given))
        models = self._learner.models(_trials(runs))
        offered = _offered(self._jobs.capacity())
        plan = provision(
            runtime=models.runtime,
            memory=models.memory,
            prices=self._prices,
            values=values,
            goal=goal,
            configurations=offered,
        )
        stored = PROFILE.validate_json(row.request)
        arguments = {**stored.args, **request.args}
        shown = self._plan(row, request, template, values, plan, models, arguments)
        if request.surface:
            shown = replace(shown, surface=self._surface(models, values, goal, offered))
        if plan.choice is None or request.dry_run:
            return shown
        job = self._jobs.submit(
            caller,
            JobRequest(
                command=plain_command(template),
                name=row.name,
                input=stored.input if request.input is None else request.input,
                code=stored.code,
                args={**arguments, **{name: argument(value) for name, value in values.items()}},
                environment=stored.environment,
                env=stored.env,
                output=_output(request.output),
                resources=plan.choice.configuration.resources(),
                timeout=stored.timeout,
                tags=("autoprovisioned",),
            ),
            template_id=row.id,
            prediction=json.dumps(_prediction(plan.choice, goal, models)),
        )
        return replace(shown, job=job)

    def spending(
        self, caller: Principal, by: str, *, since: datetime | None, until: datetime | None
    ) -> Sequence[Spending]:
        """What jobs have cost, by user, template, tag, day, or altogether."""
        if by not in _BY:
            raise InvalidInput(f"costs are summed by one of {', '.join(_BY)}, not {by!r}")
        with self._database.read(caller.project) as tx:
            rows = records.spending(tx, by if by != "project" else "user", since=since, until=until)
        if by == "project":
            rows = _together(caller.user.project, rows)
        return [
            Spending(
                key=_day(key) if by == "day" else key,
                jobs=int(count),
                cost=float(total),
                cpu_hours=float(hours),
                runtime=float(seconds),
            )
            for key, count, total, hours, seconds in rows
        ]

    def _models_if_any(self, runs: Sequence[Run]) -> Models | None:
        try:
            return self._learner.models(_trials(runs))
        except InvalidInput:
            return None

    def _shown(self, tx: Transaction, row: TemplateRow) -> Template:
        request = PROFILE.validate_json(row.request)
        template = parsed(row)
        runs = [
            run
            for run in runs_of(records.runs(tx, [row.id]), template)
            if run.row.priority == PROFILING_RANK
        ]
        ended = [run for run in runs if run.ended]
        return Template(
            name=row.name,
            command=row.command,
            status=TemplateStatus(row.status),
            creator=row.creator,
            create_time=row.created_at,
            end_time=row.ended_at,
            parameters=tuple(
                TemplateParameter(name=one.name, kind=one.kind.value, values=one.values)
                for one in template.parameters
            ),
            inputs=request.input,
            code=request.code,
            adaptive=request.adaptive,
            progress=Progress(
                grid=len(adaptive.grid(template, request.cpus, request.memories)),
                done=len(ended),
                running=len(runs) - len(ended),
                failed=sum(run.row.status != JobState.FINISHED.value for run in ended),
                spent=sum(run.row.cost or 0.0 for run in ended),
                budget=request.budget,
            ),
            reason=row.reason,
        )

    def _plan(
        self,
        row: TemplateRow,
        request: ProvisionRequest,
        template: hints.Template,
        values: Mapping[str, Value],
        plan: Plan,
        models: Models,
        arguments: Mapping[str, str | float],
    ) -> ProvisionPlan:
        return ProvisionPlan(
            template=row.name,
            command=template.render(values, arguments),
            values=values,
            max_cost=request.max_cost,
            max_time=request.max_time,
            optimize=plan.goal.minimised.value,
            probability=request.probability,
            considered=plan.considered,
            choice=None if plan.choice is None else _option(plan.choice),
            next_best=tuple(_option(one) for one in plan.next_best),
            curve=tuple(_option(one) for one in plan.curve),
            excluded=tuple(_exclusion(one) for one in plan.exclusions),
            shortfall=None if plan.shortfall is None else plan.shortfall.message,
            warnings=plan.warnings,
            model=models.runtime.name,
            explanation=models.runtime.explain(),
            currency=self._prices.currency,
        )

    def _surface(
        self,
        models: Models,
        values: Mapping[str, Value],
        goal: Goal,
        offered: Sequence[Configuration],
    ) -> tuple[SurfacePoint, ...]:
        predicted = models.runtime.predict(offered, values)
        likely = predicted.quantile(goal.probability)
        needed = models.memory.needed(offered, values)
        points = []
        for i, one in enumerate(offered):
            seconds = float(predicted.median[i])
            dear = cost(self._prices, one, float(likely[i]))
            allowed = (
                (goal.max_seconds is None or likely[i] <= goal.max_seconds)
                and (goal.max_cost is None or dear <= goal.max_cost)
                and one.memory_mb >= needed[i]
            )
            points.append(
                SurfacePoint(
                    cpu=one.cpu,
                    memory=int(one.memory_mb * MIB),
                    seconds=seconds,
                    cost=cost(self._prices, one, seconds),
                    allowed=bool(allowed),
                )
            )
        return tuple(points)


def _found(tx: Transaction, name: str) -> TemplateRow:
    row = records.find(tx, name)
    if row is None:
        raise TemplateNotFound(
            f"there is no template {name} in this project; see `acai template ls`", template=name
        )
    return row


def _within(request: ProfileRequest, capacity: Capacity) -> ProfileRequest:
    """The choices that fit here. Defaults that do not are left out; others are refused."""
    most_cpu = min(capacity.cpu, capacity.job_cpu or capacity.cpu)
    most_mb = min(capacity.memory, capacity.job_memory or capacity.memory) / MIB
    cpus = tuple(sorted({one for one in request.cpus if one <= most_cpu}))
    memories = tuple(sorted({one for one in request.memories if one <= most_mb}))
    if (len(cpus) < len(set(request.cpus)) and request.cpus != adaptive.DEFAULT_CPUS) or not cpus:
        raise InvalidInput(
            f"profiling asks for {max(request.cpus, default=0):g} CPU, but there are"
            f" {most_cpu:g} here at most; choose others with --cpus"
        )
    if (
        len(memories) < len(set(request.memories))
        and request.memories != adaptive.DEFAULT_MEMORIES_MB
    ) or not memories:
        raise InvalidInput(
            f"profiling asks for {max(request.memories, default=0):g} MB, but there are"
            f" {most_mb:.0f} MB here at most; choose others with --memories"
        )
    return replace(request, cpus=cpus, memories=memories)


def _check(request: ProfileRequest, template: hints.Template) -> None:
    if min(request.cpus) <= 0 or min(request.memories) < 16:
        raise InvalidInput("CPUs are above 0, and memories at least 16 (MB)")
    if request.budget is not None and not 0 < request.budget < math.inf:
        raise InvalidInput(f"the profiling budget must be above 0, not {request.budget:g}")
    lacking = [name for name in template.arguments if name not in request.args]
    if lacking:
        raise InvalidInput(
            f"the template has a place for {lacking[0]!r} without values: write hints such as"
            f" {{{lacking[0]}: 1,2,5}}, or give --arg {lacking[0]}=…"
        )
    count = len(request.cpus) * len(request.memories) * len(template.combinations())
    if count > _MOST_CANDIDATES:
        raise InvalidInput(
            f"the grid has {count} runs; leave out some hints, CPUs or memories"
            f" ({_MOST_CANDIDATES} at most)"
        )


def _trials(runs: Sequence[Run]) -> list[Trial]:
    return [run.trial for run in runs if run.trial is not None]


def _goal(request: ProvisionRequest) -> Goal:
    if request.optimize not in (None, "time", "cost"):
        raise InvalidInput(f"optimize is time or cost, not {request.optimize!r}")
    return Goal(
        max_cost=request.max_cost,
        max_seconds=request.max_time,
        optimise=None if request.optimize is None else Optimise(request.optimize),
        probability=request.probability,
    )


def _offered(capacity: Capacity) -> list[Configuration]:
    most_cpu = min(capacity.cpu, capacity.job_cpu or capacity.cpu, 8.0)
    most_mb = min(capacity.memory, capacity.job_memory or capacity.memory) / MIB
    return configuration_grid(
        cpus=(0.5, max(most_cpu, 0.5), 0.5),
        memories_mb=(512.0, max(min(most_mb, 8192.0), 512), 256.0),
    )


def _points(runs: Sequence[Run], models: Models | None) -> list[TrialPoint]:
    if not runs:
        return []
    predicted: list[float | None] = [None] * len(runs)
    if models is not None:
        found = models.runtime.predict(
            [run.configuration for run in runs], [run.values for run in runs]
        )
        predicted = [float(one) for one in found.median]
    return [
        TrialPoint(
            job=run.row.public_id,
            values=run.values,
            cpu=run.row.cpu,
            memory=run.row.memory,
            outcome=run.row.status if run.trial is None else run.trial.outcome.value,
            profiled=run.row.priority == PROFILING_RANK,
            seconds=run.row.runtime,
            predicted=predicted[i],
            predicted_before=_said_before(run),
            cost=run.row.cost,
            peak_memory=run.row.peak_memory,
            time=run.row.started_at,
        )
        for i, run in enumerate(runs)
    ]


def _said_before(run: Run) -> float | None:
    return None if run.row.prediction is None else float(json.loads(run.row.prediction)["seconds"])


def _option(one: Option) -> PlanOption:
    return PlanOption(
        cpu=one.configuration.cpu,
        memory=int(one.configuration.memory_mb * MIB),
        seconds=one.seconds,
        seconds_interval=one.seconds_interval,
        seconds_likely=one.seconds_likely,
        cost=one.cost,
        cost_interval=one.cost_interval,
        cost_likely=one.cost_likely,
    )


def _exclusion(one: Exclusion) -> PlanExclusion:
    return PlanExclusion(
        reason=one.reason,
        count=one.count,
        nearest_cpu=one.nearest.cpu,
        nearest_memory=int(one.nearest.memory_mb * MIB),
    )


def _prediction(choice: Option, goal: Goal, models: Models) -> dict[str, object]:
    return {
        "seconds": choice.seconds,
        "seconds_interval": choice.seconds_interval,
        "cost": choice.cost,
        "cost_interval": choice.cost_interval,
        "max_cost": goal.max_cost,
        "max_time": goal.max_seconds,
        "probability": goal.probability,
        "model": models.runtime.name,
    }


def _output(text: str | None) -> OutputSpec | None:
    if text is None:
        return None
    name, _, path = text.partition("=")
    return OutputSpec(name=name, path=path or "out/")


def _together(
    key: str | None, rows: Sequence[tuple[str | None, int, float, float, float]]
) -> list[tuple[str | None, int, float, float, float]]:
    if not rows:
        return []
    _, counts, costs, hours, seconds = zip(*rows, strict=True)
    return [(key, sum(counts), sum(costs), sum(hours), sum(seconds))]


def _day(number: int) -> str:
    return (_EPOCH + timedelta(days=int(number))).date().isoformat()
