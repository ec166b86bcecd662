"""What a run tells on its way: a program that reports how far it is contains shorter runs.

One that is to run for 3 epochs, and prints `[ACAI_TAG_NUM] JOB epochs:1` after the first, has
shown how long a run of 1 epoch takes: what it took, less the time from that report to the last.
What comes before the first epoch and after the last belongs to both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from acai.provisioning.trials import Passed, Value

_LEAST = 0.05  # of the run's value: what is passed before is as good as nothing
NEARLY = 0.8  # what is passed later is as good as the whole
Report = tuple[float, float]  # how far, and when in seconds since any moment


def passed(
    values: Mapping[str, Value], seconds: float, reports: Mapping[str, Sequence[Report]]
) -> tuple[Passed, ...]:
    """Two of the shorter runs in a finished one: the first, and one half way in proportion.

    `reports` are the numbers that it printed, by name and in order. They count as progress if
    one is called like a parameter, rises, and ends at that parameter's value.
    """
    for name, printed in reports.items():
        value = values.get(name)
        if isinstance(value, float) and value > 0:
            found = _read(name, value, printed, values, seconds)
            if found:
                return found
    return ()


def _read(
    name: str,
    value: float,
    printed: Sequence[Report],
    values: Mapping[str, Value],
    seconds: float,
) -> tuple[Passed, ...]:
    if any(b[0] <= a[0] or b[1] < a[1] for a, b in itertools.pairwise(printed)):
        return ()
    # Of what was seen at once, because the program's output was held back, only the last is true.
    seen = list({when: (far, when) for far, when in printed}.values())
    if not seen or seen[-1][0] != value:
        return ()
    end = seen[-1][1]
    # What is done at the end of a unit, such as a validation, is missing from parts of it.
    units = value.is_integer()
    inside = {
        far: seconds - (end - when)
        for far, when in seen
        if _LEAST * value <= far <= NEARLY * value
        and end - when < seconds
        and (far.is_integer() or not units)
    }
    if not inside:
        return ()
    first = min(inside)
    middle = min(inside, key=lambda far: abs(math.log(far) - math.log(first * value) / 2))
    return tuple(
        Passed(values={**values, name: far}, seconds=inside[far]) for far in sorted({first, middle})
    )
