"""Tables on stdout, plots into bench/out where matplotlib is installed, and where data lie.

Measured data are looked for in `$ACAI_EVALUATION_DATA`, or in `../shared/data` beside the
repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

NOTHING_MEASURED = 3  # a bench's exit code where the data that it analyses are not there
OUT = Path(__file__).resolve().parents[1] / "out"
EVALUATION_DATA = Path(
    os.environ.get("ACAI_EVALUATION_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]
    for line in (heads, ["-" * width for width in widths], *rows):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())


def draw(name: str, paint: Callable[[Any], None]) -> None:
    try:
        import matplotlib
    except ImportError:
        print(f"(no plot {name}: matplotlib is not installed)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    OUT.mkdir(exist_ok=True)
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    paint(axes)
    figure.savefig(OUT / f"{name}.png", dpi=120)
    pyplot.close(figure)
    print(f"(plot: {(OUT / name).with_suffix('.png')})")
