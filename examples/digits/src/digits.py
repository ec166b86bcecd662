"""Reading the data, and a network of two layers, in numpy."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np


def load(directory: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(directory / f"{name}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28 * 28)
    with gzip.open(directory / f"{name}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / 255, labels


def forward(weights: dict[str, np.ndarray], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    hidden = np.maximum(x @ weights["w1"] + weights["b1"], 0)
    scores = hidden @ weights["w2"] + weights["b2"]
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    return hidden, chances / chances.sum(axis=1, keepdims=True)
