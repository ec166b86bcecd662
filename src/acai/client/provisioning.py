"""Templates, plans and costs, from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from acai.client.code import find_code, send_code
from acai.client.decode import decode
from acai.client.job_options import inputs_of, seconds_of
from acai.client.jobs import JobsPart
from acai.model.errors import InvalidInput
from acai.model.jobs import Environment
from acai.model.templates import (
    ProfileRequest,
    ProvisionPlan,
    ProvisionRequest,
    Spending,
    Template,
    TemplateDetail,
    TemplateStatus,
    TemplateValue,
)

if TYPE_CHECKING:
    from acai.client.transfer.sources import Local
    from acai.client.transfer.values import OnNote, OnProgress

_LOOK = 0.5  # seconds between looks at a template that is being profiled


class ProvisioningPart(JobsPart):
    def profile(
        self,
        template_name: str,
        command_template: str,
        *,
        input: str | Sequence[str] | None = None,
        code: Local | None = None,
        args: Mapping[str, str | float] | None = None,
        requirements: Local | None = None,
        env: Mapping[str, str] | None = None,
        cpus: Sequence[float] = (0.5, 1, 2),
        memories: Sequence[float] = (512, 1024, 2048),
        budget: float | None = None,
        adaptive: bool = True,
        timeout: str | float | timedelta | None = None,
        wait: bool = False,
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> Template:
        """Learn how long a command takes: `train.py --epochs {1,2,5}`.

        Its runs are ordinary jobs at the lowest priority, on these CPUs and memories (MB).
        `adaptive` chooses each of them by what it teaches; else the whole grid is run. `budget`
        limits what they cost together. Doing it again goes on where it was.
        """
        place = None if code is None else find_code(self, str(code))
        if isinstance(place, Path):
            place = send_code(self, place, template_name, on_progress=on_progress, on_note=on_note)
        request = ProfileRequest(
            template_name=template_name,
            command_template=command_template,
            input=tuple(inputs_of(input) or ()),
            code=place,
            args=dict(args or {}),
            environment=Environment(requirements=_text(requirements)),
            env=dict(env or {}),
            cpus=tuple(float(one) for one in cpus),
            memories=tuple(float(one) for one in memories),
            budget=budget,
            adaptive=adaptive,
            timeout=None if timeout is None else seconds_of(timeout),
        )
        made = decode(Template, self._session.call("POST", "/templates", asdict(request)))
        return self.wait_for_template(template_name) if wait else made

    def wait_for_template(
        self, name: str, on_look: Callable[[Template], None] | None = None
    ) -> Template:
        """Until a template is no longer being profiled; `on_look` sees it now and then."""
        while True:
            found = self.template(name)
            if on_look is not None:
                on_look(found)
            if found.status is not TemplateStatus.PROFILING:
                return found
            time.sleep(_LOOK)

    def templates(self) -> Iterator[Template]:
        return self._pages(Template, "/templates", size=100)

    def template(self, name: str) -> TemplateDetail:
        """A template with its runs, predicted and measured."""
        found = self._session.call("GET", f"/templates/{quote(name, safe='')}")
        return decode(TemplateDetail, found)

    def autoprovision(
        self,
        template_name: str,
        values: Sequence[TemplateValue] | Mapping[str, TemplateValue] = (),
        *,
        max_cost: float | None = None,
        max_time: str | float | timedelta | None = None,
        optimize: str | None = None,
        probability: float = 0.9,
        args: Mapping[str, str | float] | None = None,
        input: str | Sequence[str] | None = None,
        output: str | None = None,
        dry_run: bool = False,
        surface: bool = False,
    ) -> ProvisionPlan:
        """Run a template with these values on the resources that meet the limits best.

        The fastest under a cost, the cheapest under a time. With `dry_run` nothing is run. A
        plan without a `choice` says in `shortfall` what would fit.
        """
        request = ProvisionRequest(
            template_name=template_name,
            values=dict(values) if isinstance(values, Mapping) else tuple(values),
            args=dict(args or {}),
            input=None if input is None else tuple(inputs_of(input) or ()),
            output=output,
            max_cost=max_cost,
            max_time=None if max_time is None else seconds_of(max_time),
            optimize=optimize,
            probability=probability,
            dry_run=dry_run,
            surface=surface,
        )
        return decode(ProvisionPlan, self._session.call("POST", "/plans", asdict(request)))

    def costs(
        self,
        by: str = "user",
        *,
        since: date | datetime | None = None,
        until: date | datetime | None = None,
    ) -> list[Spending]:
        """What jobs have cost, summed by user, template, tag, day or project."""
        query: dict[str, Any] = {"by": by, "since": _moment(since), "until": _moment(until)}
        answer = self._session.call("GET", "/costs", query=query)
        return [decode(Spending, one) for one in answer["items"]]


def _moment(given: date | datetime | None) -> str | None:
    if given is None:
        return None
    return given.isoformat() if isinstance(given, datetime) else f"{given.isoformat()}T00:00:00Z"


def _text(path: Local | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(str(path)).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the requirements {path} cannot be read: {error}") from None
