"""Templates: commands whose run time is learnt, and the plans made with what was learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from acai.model.jobs import Environment, Job

TemplateValue = float | str


class TemplateStatus(StrEnum):
    PROFILING = "profiling"
    READY = "ready"
    FAILED = "failed"  # no run finished: there is nothing to learn from


@dataclass(frozen=True, kw_only=True)
class ProfileRequest:
    """What to profile, and how. Hints stand in the command: `--epoch {1,2,5}`."""

    template_name: str
    command_template: str
    input: tuple[str, ...] = ()
    code: str | None = None
    args: Mapping[str, str | float] = field(default_factory=dict)  # of plain placeholders
    environment: Environment = field(default_factory=Environment)
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: tuple[float, ...] = (0.5, 1.0, 2.0)
    memories: tuple[float, ...] = (512.0, 1024.0, 2048.0)  # MB of 2**20 bytes
    budget: float | None = None  # what profiling may cost
    adaptive: bool = True  # choose each run by what it teaches; else the whole grid
    timeout: float | None = None  # seconds, of one run


@dataclass(frozen=True, kw_only=True)
class TemplateParameter:
    name: str
    kind: str  # number, choice
    values: tuple[TemplateValue, ...]  # that are profiled


@dataclass(frozen=True, kw_only=True)
class Progress:
    grid: int  # runs that the whole grid would be
    done: int
    running: int
    failed: int  # of those done: failed, out of memory or cut
    spent: float
    budget: float | None = None


@dataclass(frozen=True, kw_only=True)
class Template:
    name: str
    command: str  # with its hints
    status: TemplateStatus
    creator: str
    create_time: datetime
    end_time: datetime | None
    parameters: tuple[TemplateParameter, ...]
    inputs: tuple[str, ...]
    code: str | None
    adaptive: bool
    progress: Progress
    reason: str | None = None  # why profiling ended, or what is wrong


@dataclass(frozen=True, kw_only=True)
class TrialPoint:
    """One run of a template, and what the model says of it now."""

    job: str
    values: Mapping[str, TemplateValue]
    cpu: float
    memory: int
    outcome: str
    profiled: bool
    seconds: float | None = None
    predicted: float | None = None  # by the model as it is, or before the run where it was made
    predicted_before: float | None = None
    cost: float | None = None
    peak_memory: int | None = None
    time: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TemplateDetail(Template):
    points: tuple[TrialPoint, ...]
    model: str | None = None  # the name of the chosen model
    explanation: str | None = None
    error: float | None = None  # relative, in cross-validation


@dataclass(frozen=True, kw_only=True)
class ProvisionRequest:
    template_name: str
    values: tuple[TemplateValue, ...] | Mapping[str, TemplateValue] = ()
    args: Mapping[str, str | float] = field(default_factory=dict)
    input: tuple[str, ...] | None = None  # None: the template's own
    output: str | None = None  # name of the set to make, NAME or NAME=PATH
    max_cost: float | None = None
    max_time: float | None = None  # seconds
    optimize: str | None = None  # time or cost
    probability: float = 0.9
    dry_run: bool = False
    surface: bool = False  # with the prediction of every configuration


@dataclass(frozen=True, kw_only=True)
class PlanOption:
    """Medians, 90 % intervals, and what is not exceeded with the asked probability."""

    cpu: float
    memory: int
    seconds: float
    seconds_interval: tuple[float, float]
    seconds_likely: float
    cost: float
    cost_interval: tuple[float, float]
    cost_likely: float


@dataclass(frozen=True, kw_only=True)
class PlanExclusion:
    reason: str
    count: int
    nearest_cpu: float
    nearest_memory: int


@dataclass(frozen=True, kw_only=True)
class SurfacePoint:
    cpu: float
    memory: int
    seconds: float
    cost: float
    allowed: bool


@dataclass(frozen=True, kw_only=True)
class ProvisionPlan:
    template: str
    command: str
    values: Mapping[str, TemplateValue]
    max_cost: float | None
    max_time: float | None
    optimize: str
    probability: float
    considered: int
    choice: PlanOption | None
    next_best: tuple[PlanOption, ...]
    curve: tuple[PlanOption, ...]  # unbeaten in time and cost, fastest first
    excluded: tuple[PlanExclusion, ...]
    shortfall: str | None  # why nothing fits, and what would
    warnings: tuple[str, ...]
    model: str
    explanation: str
    currency: str
    surface: tuple[SurfacePoint, ...] = ()
    job: Job | None = None  # unless it was only planned


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What jobs have cost, for one user, template, tag or day."""

    key: str | None
    jobs: int
    cost: float
    cpu_hours: float
    runtime: float
