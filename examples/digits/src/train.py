"""Train on /digits: `python train.py --epochs 5`. Lines with [ACAI_TAG…] become metadata."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from digits import forward, load

BATCH = 64

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--hidden", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.5)
given = parser.parse_args()

images, labels = load(Path("digits"), "train")
random = np.random.default_rng(0)
weights = {
    "w1": random.normal(0, 0.05, (784, given.hidden)).astype(np.float32),
    "b1": np.zeros(given.hidden, np.float32),
    "w2": random.normal(0, 0.05, (given.hidden, 10)).astype(np.float32),
    "b2": np.zeros(10, np.float32),
}
print(f"{len(images)} images, {given.hidden} hidden units, {given.epochs} epochs")
for epoch in range(given.epochs):
    order = random.permutation(len(images))
    losses = []
    for start in range(0, len(order), BATCH):
        x, y = images[order[start : start + BATCH]], labels[order[start : start + BATCH]]
        hidden, chances = forward(weights, x)
        losses.append(-np.log(chances[np.arange(len(y)), y] + 1e-9).mean())
        chances[np.arange(len(y)), y] -= 1
        back = (chances @ weights["w2"].T) * (hidden > 0)
        for name, change in (
            ("w2", hidden.T @ chances),
            ("b2", chances.sum(axis=0)),
            ("w1", x.T @ back),
            ("b1", back.sum(axis=0)),
        ):
            weights[name] -= given.lr * change / len(y)
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    print(f"[ACAI_TAG_NUM] JOB epochs:{epoch + 1}")
    print(f"[ACAI_TAG_NUM] JOB training_loss:{np.mean(losses):.6f}")
print("[ACAI_TAG] FILESET model:two-layers")
print(f"[ACAI_TAG_NUM] FILESET hidden:{given.hidden}")
np.savez(Path(os.environ["ACAI_OUTPUT_DIR"]) / "weights.npz", **weights)
