"""What the agents of running jobs say, with the token of their attempt. See `routes.logs` for
what their programs print."""

from __future__ import annotations

from pydantic import BaseModel

from acai.api.needs import Caller, Needs, Platform, Routes
from acai.model.assignments import Assignment, Ending, EndingAnswer, Report, ReportAnswer

routes = Routes("agent")


class Begun(BaseModel):
    attempt: int
    host: str = ""


@routes.on("POST", "/agent/begin", Needs.JOB)
def begin_attempt(body: Begun, caller: Caller, platform: Platform) -> Assignment:
    """The agent is there; what it is to do."""
    return platform.reports.begin(caller, body.attempt)


@routes.on("POST", "/agent/report", Needs.JOB)
def report_attempt(body: Report, caller: Caller, platform: Platform) -> ReportAnswer:
    """Where the agent is, and what its program uses and says of itself."""
    return platform.reports.report(caller, body)


@routes.on("POST", "/agent/end", Needs.JOB)
def end_attempt(body: Ending, caller: Caller, platform: Platform) -> EndingAnswer:
    """How it ended; the output becomes a set."""
    return platform.reports.end(caller, body)
