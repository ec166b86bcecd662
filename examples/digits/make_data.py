"""Hand-drawn-looking digits in the files that MNIST comes in: `python make_data.py DIRECTORY`."""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path

import numpy as np

SIDE = 28
STROKES = (  # five columns by seven rows, for each digit
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
SHAPES = np.array([[[int(dot) for dot in row] for row in one.split()] for one in STROKES])


def draw(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Digits of several sizes, at several places, leaning, with thin and thick strokes."""
    labels = random.integers(0, 10, count)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    images = np.zeros((count, SIDE, SIDE))
    for i, label in enumerate(labels):
        high, wide = random.uniform(14, 22), random.uniform(8, 15)
        top, left = random.uniform(1, 27 - high), random.uniform(1, 27 - wide)
        lean = random.uniform(-0.25, 0.25)
        row = ((y - top) / high * 7).astype(int)
        column = ((x - left + lean * (y - SIDE / 2)) / wide * 5).astype(int)
        inside = (y >= top) & (x - left + lean * (y - SIDE / 2) >= 0) & (row < 7) & (column < 5)
        images[i][inside] = SHAPES[label][row[inside], column[inside]]
    shaded = images * random.uniform(120, 255, (count, 1, 1))
    noisy = shaded + random.normal(0, 40, images.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8), labels.astype(np.uint8)


def write(directory: Path, name: str, count: int, random: np.random.Generator) -> None:
    images, labels = draw(count, random)
    with gzip.open(directory / f"{name}-images-idx3-ubyte.gz", "wb", 1) as file:
        file.write(struct.pack(">IIII", 2051, count, SIDE, SIDE) + images.tobytes())
    with gzip.open(directory / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as file:
        file.write(struct.pack(">II", 2049, count) + labels.tobytes())


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(7)
    write(target, "train", 6000, generator)
    write(target, "t10k", 1000, generator)
