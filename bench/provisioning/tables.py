"""Tables on stdout, and plots into bench/out where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "out"


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
