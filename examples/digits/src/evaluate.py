"""Evaluate a trained model on the test images: `python evaluate.py MODEL_SET_NAME`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from digits import forward, load

weights = dict(np.load(Path(sys.argv[1]) / "weights.npz"))
images, labels = load(Path("digits"), "t10k")
_, chances = forward(weights, images)
right = chances.argmax(axis=1) == labels
report = {"accuracy": float(right.mean()), "images": len(labels)}
(Path(os.environ["ACAI_OUTPUT_DIR"]) / "report.json").write_text(json.dumps(report))
print(f"{right.sum()} of {len(labels)} right")
print(f"[ACAI_TAG_NUM] FILESET accuracy:{report['accuracy']:.4f}")
