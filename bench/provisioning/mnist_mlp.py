"""A multi-layer perceptron on MNIST: the program whose run time the benches predict.

    python mnist_mlp.py --data DIR --epochs 3 [--batch 256]

It needs torch and numpy. Batches stream through one epoch after another, and each epoch ends
with a pass over the held-out digits. Then it reports how far it is.
"""

from __future__ import annotations

import argparse
import gzip
import os
import struct
from pathlib import Path

import numpy as np
import torch
from torch import nn


def read_idx(path: Path) -> np.ndarray:
    with gzip.open(path, "rb") as stream:
        _, _, kind, dimensions = struct.unpack(">BBBB", stream.read(4))
        assert kind == 8, f"{path} does not hold unsigned bytes"
        shape = struct.unpack(f">{dimensions}I", stream.read(4 * dimensions))
        return np.frombuffer(stream.read(), dtype=np.uint8).reshape(shape)


def load(directory: Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    images = read_idx(directory / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(directory / f"{part}-labels-idx1-ubyte.gz")
    flat = torch.from_numpy(images.reshape(len(images), -1).astype(np.float32) / 255.0)
    return flat, torch.from_numpy(labels.astype(np.int64))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    torch.manual_seed(7)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    images, labels = load(options.data, "train")
    held_images, held_labels = load(options.data, "t10k")
    network = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    measure = nn.CrossEntropyLoss()
    for epoch in range(1, options.epochs + 1):
        for chosen in torch.randperm(len(images)).split(options.batch):
            optimiser.zero_grad()
            measure(network(images[chosen]), labels[chosen]).backward()
            optimiser.step()
        with torch.no_grad():
            right = (network(held_images).argmax(1) == held_labels).float().mean().item()
        print(f"[ACAI_TAG_NUM] JOB epochs:{epoch}", flush=True)
        print(f"[ACAI_TAG_NUM] JOB accuracy:{right:.4f}", flush=True)
        print(f"epoch {epoch}: accuracy {right:.4f}", flush=True)


if __name__ == "__main__":
    main()
