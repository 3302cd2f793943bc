"""Classify networks by their weights alone: `python docs/classify_weights.py SET --target label`.

SET is a folder or URL of `staf.FieldSet`, for example that of `python -m paper weights --data digits --out SET`. One
field in five, chosen by `--seed`, is held out; the classifier sees the weights of the others. Networks that start from
the same weights have neurons in the same order, so that a plain perceptron on the standardised weights works.
"""

from __future__ import annotations

import argparse
import sys

import torch
from torch import Tensor, nn

import staf


def data(fields: staf.FieldSet, target: str) -> tuple[Tensor, Tensor]:
    """The weights of each field in a row, and the number of its class."""
    labels = [entry.tags[target] for entry in fields.entries]
    classes = {label: number for number, label in enumerate(sorted(set(labels), key=str))}
    return fields.stack().matrix(), torch.tensor([classes[label] for label in labels])


def accuracy(fields: staf.FieldSet, target: str, *, seed: int, epochs: int, width: int) -> float:
    """The share of held-out fields whose class is recognised."""
    rows, labels = data(fields, target)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    held, kept = order[: len(order) // 5], order[len(order) // 5 :]
    mean, deviation = rows[kept].mean(0), rows[kept].std(0).clamp(min=1e-8)
    rows = (rows - mean) / deviation
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Dropout(0.5), nn.Linear(rows.shape[1], width), nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, 1 + labels.max())
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    for _ in range(epochs):
        for batch in kept[torch.randperm(len(kept))].split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(rows[batch]), labels[batch]).backward()
            optimiser.step()
    model.eval()
    with torch.no_grad():
        return float((model(rows[held]).argmax(1) == labels[held]).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set")
    parser.add_argument("--target", default="label")
    parser.add_argument("--seeds", type=int, default=3, help="splits and starts of the classifier")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    fields = staf.FieldSet(options.set, target=options.target)
    found = [
        accuracy(fields, options.target, seed=seed, epochs=options.epochs, width=options.width)
        for seed in range(options.seeds)
    ]
    shown = ", ".join(f"{100 * value:.1f}%" for value in found)
    sys.stdout.write(f"accuracy on held-out fields: {shown}; mean {100 * sum(found) / len(found):.1f}%\n")


if __name__ == "__main__":
    main()
