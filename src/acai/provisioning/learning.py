"""What the runs of a template have taught: its trials out of jobs, and models fitted to them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from acai.model.jobs import JobRequest, JobState, Resources
from acai.model.templates import ProfileRequest
from acai.provisioning.hints import Kind, Template, parse_template
from acai.provisioning.memory import MemoryModel, fit_memory
from acai.provisioning.progress import Report, passed
from acai.provisioning.runtime.selection import MOST_TRIALS, RuntimeModel, fit_runtime
from acai.provisioning.trials import Configuration, Outcome, Trial, Value
from acai.stores.records import templates as records
from acai.stores.records.database import Transaction
from acai.stores.records.templates import RunRow, TemplateRow

REQUEST = TypeAdapter(JobRequest)
PROFILE = TypeAdapter(ProfileRequest)
Reports = Mapping[str, Sequence[Report]]
NOTHING: Mapping[int, Reports] = {}
_KEPT_MODELS = 64
PROFILING_RANK = 2


@dataclass(frozen=True, kw_only=True)
class Run:
    """A job of the template, and the trial that it is once it has ended."""

    row: RunRow
    values: Mapping[str, Value]
    configuration: Configuration
    trial: Trial | None

    @property
    def ended(self) -> bool:
        return JobState(self.row.status).ended


@dataclass(frozen=True, kw_only=True)
class Models:
    runtime: RuntimeModel
    memory: MemoryModel


def family(template: Template, request: ProfileRequest) -> str:
    """Equal for templates whose runs teach each other: the same command but for its hints, the
    same code and input whatever their versions."""
    same = {
        "command": plain_command(template),
        "kinds": [[one.name, one.kind.value] for one in template.parameters],
        "input": sorted(one.partition(":")[0] for one in request.input),
        "code": _unversioned(request.code),
    }
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()


def _unversioned(code: str | None) -> str | None:
    if code is None:
        return None
    head, mark, reference = code.rpartition("@")
    return code if not mark else f"{head}@{reference.partition(':')[0]}"


def plain_command(template: Template) -> str:
    """The command as jobs have it: `{name}` where the hints were."""
    return "".join(
        f"{{{piece.name}}}"
        if piece.name is not None
        else piece.literal.replace("{", "{{").replace("}", "}}")
        for piece in template.pieces
    )


def argument(value: Value) -> int | float | str:
    """How a template's value is written into a command: 5, not 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def relatives(tx: Transaction, row: TemplateRow) -> list[int]:
    """The templates whose runs teach this one, itself included."""
    own = json.loads(row.plan)["family"]
    return [one.id for one in records.everything(tx) if json.loads(one.plan)["family"] == own]


def teaching(tx: Transaction, row: TemplateRow, template: Template) -> list[Run]:
    """The runs that teach this template, with what they reported on their way."""
    rows = records.runs(tx, relatives(tx, row))
    done = [one.id for one in rows if one.status == JobState.FINISHED.value]
    numbers = [one.name for one in template.parameters if one.kind is Kind.NUMBER]
    return runs_of(rows, template, records.reports(tx, done[-MOST_TRIALS:], numbers))


def runs_of(
    rows: Sequence[RunRow], template: Template, reports: Mapping[int, Reports] = NOTHING
) -> list[Run]:
    found = (_run(row, template, reports.get(row.id, {})) for row in rows)
    return [run for run in found if run is not None]


def _run(row: RunRow, template: Template, reports: Reports) -> Run | None:
    request = REQUEST.validate_json(row.request)
    try:
        values = {one.name: _value(request.args[one.name], one.kind) for one in template.parameters}
    except (KeyError, ValueError):
        return None  # of a relative with other parameters
    configuration = Configuration.of(Resources(cpu=row.cpu, memory=row.memory, gpu=row.gpu))
    return Run(
        row=row,
        values=values,
        configuration=configuration,
        trial=_trial(row, values, configuration, reports),
    )


def _value(given: object, kind: Kind) -> Value:
    return float(str(given)) if kind is Kind.NUMBER else str(given)


def _trial(
    row: RunRow, values: Mapping[str, Value], configuration: Configuration, reports: Reports
) -> Trial | None:
    state = JobState(row.status)
    if not state.ended or (state is JobState.FINISHED and not row.runtime):
        return None
    return Trial(
        configuration=configuration,
        values=values,
        seconds=row.runtime or 0.0,
        outcome=_outcome(state, row.reason),
        peak_memory_mb=None if row.peak_memory is None else row.peak_memory / 2**20,
        profiled=row.priority == PROFILING_RANK,
        passed=passed(values, row.runtime or 0.0, reports) if state is JobState.FINISHED else (),
    )


def _outcome(state: JobState, reason: str | None) -> Outcome:
    if state is JobState.FINISHED:
        return Outcome.FINISHED
    if (reason or "").startswith("out of memory"):
        return Outcome.OUT_OF_MEMORY
    if state is JobState.KILLED or "timed out" in (reason or ""):
        return Outcome.CUT
    return Outcome.FAILED


class Learner:
    """Fits models, and keeps the latest: a fit depends on nothing but the trials."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, Models] = OrderedDict()
        self._lock = threading.Lock()

    def models(self, trials: Sequence[Trial]) -> Models:
        """Raises InvalidInput that says how many more runs are needed."""
        key = _key(trials)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = Models(runtime=fit_runtime(trials), memory=fit_memory(trials))
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > _KEPT_MODELS:
                    self._kept.popitem(last=False)
        return found


def _key(trials: Sequence[Trial]) -> object:
    return tuple(
        (
            one.configuration,
            tuple(sorted(one.values.items())),
            one.seconds,
            one.outcome,
            one.peak_memory_mb,
            tuple(part.seconds for part in one.passed),
        )
        for one in trials
    )


def parsed(row: TemplateRow) -> Template:
    return parse_template(row.command)
