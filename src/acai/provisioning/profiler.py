"""The profiler: runs a template's trials as ordinary jobs, until enough is known.

It keeps nothing in memory: what has been run is read from the jobs, so that a server which dies
in the middle goes on where it was.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from acai.model.errors import AcaiError
from acai.model.identity import Principal
from acai.model.jobs import JobRequest, Priority
from acai.model.templates import ProfileRequest, TemplateStatus
from acai.provisioning.adaptive import (
    Candidate,
    Next,
    Stop,
    grid,
    grid_is_done,
    next_trials,
)
from acai.provisioning.hints import Template
from acai.provisioning.learning import (
    PROFILE,
    Run,
    argument,
    parsed,
    plain_command,
    teaching,
)
from acai.provisioning.ports import ActingFor, Jobs
from acai.provisioning.pricing import Prices, cost
from acai.provisioning.runtime.selection import LEAST_TRIALS
from acai.provisioning.trials import finished
from acai.stores.records import templates as records
from acai.stores.records.database import PLATFORM, Database
from acai.stores.records.templates import TemplateRow

log = logging.getLogger("acai.profiler")

_AT_ONCE = 2  # trials of one template: more would be chosen knowing less
_HOPELESS = 3  # failures without a success after which the template is given up


class Profiler:
    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        prices: Prices,
        *,
        acting_for: ActingFor,
        clock: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._prices = prices
        self._acting_for = acting_for
        self._clock = clock

    def act(self) -> None:
        """Bring every template that is being profiled one step further."""
        with self._database.read(PLATFORM) as tx:
            waiting = records.profiling(tx)
        for row in waiting:
            try:
                self.step(row)
            except AcaiError as error:
                log.warning("profiling failed", extra={"template": row.name, "why": error.message})
                self._end(row, TemplateStatus.FAILED, error.message)

    def step(self, row: TemplateRow) -> None:
        caller = self._acting_for(row.project, row.user)
        if caller is None:
            self._end(row, TemplateStatus.FAILED, "the user who began it is gone")
            return
        request = PROFILE.validate_json(row.request)
        template = parsed(row)
        with self._database.read(row.project) as tx:
            everything = teaching(tx, row, template)
        candidates = grid(template, request.cpus, request.memories)
        if request.adaptive:
            self._adaptive(caller, row, request, template, candidates, everything)
        else:
            self._whole_grid(caller, row, request, template, candidates, everything)

    def _adaptive(
        self,
        caller: Principal,
        row: TemplateRow,
        request: ProfileRequest,
        template: Template,
        candidates: Sequence[Candidate],
        runs: Sequence[Run],
    ) -> None:
        trials = [run.trial for run in runs if run.trial is not None]
        running = [
            Candidate(configuration=run.configuration, values=run.values)
            for run in runs
            if not run.ended and run.row.template_id == row.id
        ]
        if len(running) >= _AT_ONCE:
            return
        own = [run for run in runs if run.row.template_id == row.id and run.ended]
        if len(own) >= _HOPELESS and not finished(trials):
            self._give_up(row, own)
            return
        found = next_trials(
            candidates=candidates,
            trials=trials,
            prices=self._prices,
            budget=request.budget,
            count=_AT_ONCE - len(running),
            running=running,
        )
        if isinstance(found, Next):
            for one in found.candidates:
                self._submit(caller, row, request, template, one)
        elif not running:
            self._conclude(row, runs, found)

    def _whole_grid(
        self,
        caller: Principal,
        row: TemplateRow,
        request: ProfileRequest,
        template: Template,
        candidates: Sequence[Candidate],
        runs: Sequence[Run],
    ) -> None:
        own = [run for run in runs if run.row.template_id == row.id]
        begun = {
            _place(run.configuration.cpu, run.configuration.memory_mb, run.values) for run in own
        }
        ended = [run for run in own if run.ended]
        missing = [
            one
            for one in candidates
            if _place(one.configuration.cpu, one.configuration.memory_mb, one.values) not in begun
        ]
        spent = sum(
            cost(self._prices, run.configuration, run.trial.seconds)
            for run in ended
            if run.trial is not None
        )
        affordable = request.budget is None or spent < request.budget
        if missing and affordable:
            for one in missing[: max(0, 4 * _AT_ONCE - (len(own) - len(ended)))]:
                self._submit(caller, row, request, template, one)
        elif missing and len(own) == len(ended):
            self._conclude(row, runs, Stop(reason="the budget is spent"))
        elif not missing and grid_is_done(len(ended), len(candidates)):
            for run in own:
                if not run.ended:
                    self._jobs.kill(caller, run.row.public_id)  # a straggler: cut
            self._conclude(row, runs, Stop(reason="the whole grid has been run"))

    def _submit(
        self,
        caller: Principal,
        row: TemplateRow,
        request: ProfileRequest,
        template: Template,
        one: Candidate,
    ) -> None:
        values = {name: argument(value) for name, value in one.values.items()}
        self._jobs.submit(
            caller,
            JobRequest(
                command=plain_command(template),
                name=f"profile {row.name}"[:128],
                input=request.input,
                code=request.code,
                args={**request.args, **values},
                environment=request.environment,
                env=request.env,
                resources=one.configuration.resources(),
                timeout=request.timeout,
                priority=Priority.PROFILING,
                retries=1,
                tags=("profiling",),
            ),
            template_id=row.id,
        )

    def _give_up(self, row: TemplateRow, own: Sequence[Run]) -> None:
        first = own[0].row
        self._end(
            row,
            TemplateStatus.FAILED,
            f"none of {len(own)} runs finished; the first, {first.public_id}:"
            f" {first.reason or 'failed'} (see `acai job logs {first.public_id}`)",
        )

    def _conclude(self, row: TemplateRow, runs: Sequence[Run], why: Stop) -> None:
        done = finished(run.trial for run in runs if run.trial is not None)
        if len(done) >= LEAST_TRIALS:
            self._end(row, TemplateStatus.READY, why.reason)
            return
        failed = [run for run in runs if run.trial is not None]
        if failed and not done:
            self._give_up(row, failed)
            return
        self._end(
            row,
            TemplateStatus.FAILED,
            f"{why.reason}, but only {len(done)} of the {LEAST_TRIALS} finished runs that are"
            " needed are there; allow more with --budget or more hints",
        )

    def _end(self, row: TemplateRow, status: TemplateStatus, reason: str) -> None:
        with self._database.write(row.project) as tx:
            records.end(tx, row.id, status=status.value, reason=reason, now=self._clock())


def _place(cpu: float, memory_mb: float, values: object) -> str:
    return json.dumps([cpu, memory_mb, values], sort_keys=True, default=dict)
