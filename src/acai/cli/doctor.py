"""`acai doctor`: check the set-up and say how to mend it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from acai import settings as table
from acai.cli import output
from acai.cli.command import Invocation, command
from acai.client.credentials import discover

_CHECKED = ("home", "database", "storage", "launcher")


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for row in table.TABLE:
        if row.name in _CHECKED:
            function = click.option(row.flag, row.name, metavar="VALUE", help=row.help)(function)
    return function


@command(
    "doctor", example="acai doctor\nacai doctor --storage 's3://bucket?endpoint=http://host:8333'"
)
@_options
def doctor(invocation: Invocation, **flags: str | None) -> int:
    """Check the set-up, and say how to mend what is wrong. Exits with 1 if anything failed."""
    from acai.doctor import Finding, Health, examine

    settings = table.load(flags)
    target = discover(
        server=invocation.server,
        token=invocation.token,
        project=invocation.project,
        environ={**os.environ, "ACAI_HOME": str(settings.home)},
    )
    marks = {
        Health.OK: click.style("ok     ", fg="green"),
        Health.WARNING: click.style("warning", fg="yellow"),
        Health.FAILED: click.style("failed ", fg="red"),
    }
    findings: list[Finding] = []
    for finding in examine(settings, target):
        findings.append(finding)
        if not invocation.json:
            line = f"{marks[finding.health]}  {finding.name:9} {output.visible(finding.found)}"
            click.echo(line, color=output.use_color())
            if finding.remedy:
                click.echo(f"{'':19}→ {output.visible(finding.remedy)}")
    if invocation.json:
        output.print_json(findings)
    return 1 if any(finding.health is Health.FAILED for finding in findings) else 0
