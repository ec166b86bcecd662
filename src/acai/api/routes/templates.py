"""Templates, plans and costs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.api.paging import Cursor, Limit, Page, decode_cursor, page
from acai.model.templates import (
    ProfileRequest,
    ProvisionPlan,
    ProvisionRequest,
    Spending,
    Template,
    TemplateDetail,
)

routes = Routes("provisioning")


class Costs(BaseModel):
    by: str
    items: list[Spending]


@routes.on("POST", "/templates", Needs.PROJECT, status_code=201)
def profile_template(body: ProfileRequest, caller: Caller, platform: Platform) -> Template:
    """Profile a command: its trials run as jobs, in the background, at the lowest priority."""
    return platform.provisioning().profile(caller, body)


@routes.on("GET", "/templates", Needs.PROJECT)
def list_templates(
    caller: Caller, platform: Platform, limit: Limit = 100, cursor: Cursor = None
) -> Page[Template]:
    """Templates, by name."""
    after = decode_cursor(cursor, "")
    found = platform.provisioning().list(caller, after=after, limit=limit + 1)
    return page(found, limit, lambda one: one.name)


@routes.on("GET", "/templates/{template}", Needs.PROJECT)
def get_template(template: str, caller: Caller, platform: Platform) -> TemplateDetail:
    """One template with its runs, predicted and measured, and the model that they taught."""
    return platform.provisioning().find(caller, template)


@routes.on("POST", "/plans", Needs.PROJECT)
def make_plan(body: ProvisionRequest, caller: Caller, platform: Platform) -> ProvisionPlan:
    """Choose resources for a run under a budget or a deadline; submit it unless `dry_run`."""
    return platform.provisioning().provision(caller, body)


@routes.on("GET", "/costs", Needs.PROJECT)
def get_costs(
    caller: Caller,
    platform: Platform,
    *,
    by: Annotated[str, Query(description="user, template, tag, day or project")] = "user",
    since: Annotated[datetime | None, Query(description="Jobs submitted from then on.")] = None,
    until: Annotated[datetime | None, Query(description="Jobs submitted before then.")] = None,
) -> Costs:
    """What jobs have cost."""
    found = platform.provisioning().spending(caller, by, since=since, until=until)
    return Costs(by=by, items=list(found))
