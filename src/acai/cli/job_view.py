"""Jobs as people see them: rows, a time line, where the time went, a plot in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from acai.cli.meta import shown
from acai.cli.output import local_time
from acai.model.jobs import Job, JobDetail, JobState, Phases, Point, Waiting
from acai.model.quantities import format_duration, format_size

_BAR = 30
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille cell, by row


def exit_code(job: Job) -> int:
    """What a command that waited for this job exits with: the program's own code, as a shell
    would tell it; 1 for a job that did not end well without one."""
    code = job.exit_code
    if code is not None and code < 0:
        code = 128 - code
    if job.status is JobState.FINISHED:
        return code or 0
    return code or 1


def status_text(job: Job) -> str:
    """The state, with the place in the queue and why it waits, or how it went wrong."""
    if job.waiting is not None:
        return f"{job.status}, {_waiting_text(job.waiting)}"
    if job.kill_requested and not job.status.ended:
        return f"{job.status}, being killed"
    if job.cached_from is not None:
        return f"{job.status}, as {job.cached_from}"
    if job.reason and job.reason.startswith(job.status):
        return job.reason
    return f"{job.status}: {job.reason}" if job.reason else str(job.status)


def _waiting_text(waiting: Waiting) -> str:
    text = f"number {waiting.position}: {waiting.reason}"
    if waiting.expected is not None:
        text += f", about {format_duration(waiting.expected)}"
    return text


def ending_text(job: Job) -> str:
    """One line about a job that has ended."""
    line = f"{job.id} {job.status}"
    said = job.reason is not None and job.reason.startswith(job.status)
    if said:
        line = f"{job.id} {job.reason}"
    if job.runtime is not None:
        line += f" {'after' if said else 'in'} {format_duration(job.runtime)}"
    if job.cached_from is not None:
        line += f", answered by {job.cached_from}"
    if job.output is not None:
        line += f", output {job.output}"
    return f"{line}: {job.reason}" if job.reason and not said else line


def table(
    jobs: Sequence[Job], now: datetime, *, creators: bool
) -> tuple[list[str], list[list[Any]]]:
    """Headers and rows of a list of jobs; columns that would be empty are left out."""
    gpus = any(job.gpu for job in jobs)
    costs = any(job.cost is not None for job in jobs)
    headers = ["job", "name", "status", *(["creator"] if creators else []), "age", "time"]
    headers += ["cpu", "memory", *(["gpu"] if gpus else []), *(["cost"] if costs else [])]
    rows = []
    for job in jobs:
        row: list[Any] = [job.id, job.name, status_text(job)]
        row += [job.creator] if creators else []
        row += [brief((now - job.submit_time).total_seconds()), _run_time(job, now)]
        row += [f"{job.cpu:g}", format_size(job.memory)]
        row += [f"{job.gpu:g}"] if gpus else []
        row += [_money(job.cost)] if costs else []
        rows.append(row)
    return headers, rows


def _run_time(job: Job, now: datetime) -> str | None:
    if job.runtime is not None:
        return format_duration(job.runtime)
    if job.start_time is None or job.status.ended:
        return None
    return format_duration(max(0.0, (now - job.start_time).total_seconds()))


def brief(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def _money(cost: float | None) -> str | None:
    if cost is None:
        return None
    if cost < 0.0001:
        return "<$0.0001" if cost else "$0"
    return f"${cost:.4f}" if cost < 1 else f"${cost:.2f}"


def facts(job: JobDetail) -> list[tuple[str, Any]]:
    """What `acai job show` says first."""
    request = job.request
    environment = request.environment
    prepared = environment.image or (environment.python and f"Python {environment.python}")
    if environment.requirements is not None:
        prepared = f"requirements, digest {job.environment_digest[:12]}"
    pairs: list[tuple[str, Any]] = [
        ("job", job.id),
        ("name", job.name),
        ("status", status_text(job)),
        ("exit code", job.exit_code),
        ("creator", job.creator),
        ("description", request.description),
        ("command", job.command),
        ("arguments", _pairs(request.args)),
        ("input", ", ".join(job.inputs) or None),
        ("code", job.code),
        ("environment", prepared),
        ("output", job.output or (request.output and f"{request.output.name}, not made")),
        ("cpu", _cpu(job)),
        ("memory", _memory(job)),
        ("gpu", f"{job.gpu:g}" if job.gpu else None),
        ("time limit", request.timeout and format_duration(request.timeout)),
        ("attempt", job.attempt if job.attempt > 1 else None),
        ("cost", _money(job.cost)),
        ("predicted", _prediction(job)),
        ("tags", ", ".join(job.tags) or None),
        *((key, shown(value)) for key, value in job.meta.items()),
        *(("note", note) for note in job.notes),
    ]
    return [(name, value) for name, value in pairs if value is not None]


def _pairs(values: Any) -> str | None:
    return ", ".join(f"{key}={shown(value)}" for key, value in values.items()) or None


def _cpu(job: Job) -> str:
    text = f"{job.cpu:g} asked"
    if job.cpu_seconds is not None and job.runtime:
        text += f", {job.cpu_seconds / job.runtime:.2f} used on average"
    return text


def _memory(job: Job) -> str:
    text = f"{format_size(job.memory)} asked"
    return text if job.peak_memory is None else f"{text}, {format_size(job.peak_memory)} at most"


def _prediction(job: JobDetail) -> str | None:
    seconds = (job.prediction or {}).get("runtime")
    return format_duration(seconds) if isinstance(seconds, int | float) else None


def time_line(job: JobDetail) -> list[list[Any]]:
    """Rows of time, seconds since it was submitted, state and reason."""
    several = any(step.attempt > 1 for step in job.timeline)
    rows: list[list[Any]] = []
    for step in job.timeline:
        since = max(0.0, (step.time - job.submit_time).total_seconds())
        state = f"{step.status} (attempt {step.attempt})" if several else str(step.status)
        rows.append([local_time(step.time), f"+{format_duration(since)}", state, step.reason])
    return rows


def bars(phases: Phases) -> Iterator[str]:
    """A line for each phase: its time as a bar, in seconds and in per cent."""
    spent = [(each.name, float(getattr(phases, each.name))) for each in fields(phases)]
    total = sum(seconds for _, seconds in spent)
    for name, seconds in spent:
        share = seconds / total if total else 0.0
        yield f"{name:8}  {bar(share)}  {format_duration(seconds):>12}  {share:4.0%}"


def bar(share: float, room: int = _BAR) -> str:
    eighths = round(min(1.0, max(0.0, share)) * room * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    drawn = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return drawn.ljust(room, " ")


def plot(points: Sequence[Point], *, columns: int, rows: int = 10) -> Iterator[str]:
    """The lines of a plot of values in order: braille dots, two by four in a cell."""
    values = [point.value for point in points]
    low, high = min(values), max(values)
    labels = [f"{high:.4g}", *[""] * (rows - 2), f"{low:.4g}"]
    margin = max(len(label) for label in labels)
    wide = max(2, 2 * (columns - margin - 2))
    tall = 4 * rows
    cells = [[0] * (wide // 2) for _ in range(rows)]
    before: int | None = None
    for x in range(wide):
        height = (_value_at(values, x, wide) - low) / (high - low) if high > low else 0.5
        y = tall - 1 - round(height * (tall - 1))
        for dot in range(*_between(before, y)):
            cells[dot // 4][x // 2] |= _DOTS[dot % 4][x % 2]
        before = y
    for label, row in zip(labels, cells, strict=True):
        dots = "".join(chr(0x2800 + cell) if cell else " " for cell in row)
        yield f"{label.rjust(margin)} ┤{dots}".rstrip()
    yield f"{' ' * margin} └{'─' * (wide // 2)}"
    first, last = str(points[0].n), str(points[-1].n)
    yield f"{' ' * margin}  {first}{last.rjust(wide // 2 - len(first))}"


def _value_at(values: Sequence[float], x: int, wide: int) -> float:
    """The mean of what falls into a column, or a point on the line between two values."""
    if len(values) >= wide:
        part = values[x * len(values) // wide : (x + 1) * len(values) // wide]
        return sum(part) / len(part)
    place = x * (len(values) - 1) / (wide - 1)
    left = int(place)
    right = min(left + 1, len(values) - 1)
    return values[left] + (values[right] - values[left]) * (place - left)


def _between(before: int | None, y: int) -> tuple[int, int]:
    """The dots of a column that join it to the one before."""
    if before is None or abs(before - y) <= 1:
        return y, y + 1
    return (before + 1, y + 1) if before < y else (y, before)
