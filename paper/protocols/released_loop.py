"""The released STAF image recipe as its authors run it: their formula, plain layers, an eager loop, float32.

What their notebook does besides training (pictures, SSIM, the best epoch) is left out, which makes it faster.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from staf.benchmarking.released_networks import ReleasedNetwork


class ReleasedStaf(ReleasedNetwork):
    """The released formula with skips in the hidden layers: z = rho(a) + a.

    >>> from staf.nn import staf
    >>> field = staf(2, 3, width=8, depth=3, omega0=60, law="released", weights="torch", skip=True)
    >>> bool(torch.allclose(ReleasedStaf(field)(torch.ones(5, 2)), field(torch.ones(5, 2)), atol=1e-4))
    True
    """

    def forward(self, coordinates: Tensor) -> Tensor:
        z = coordinates
        for index, activation in enumerate(self.activations):
            a = self.linears[index](z)
            z = activation(a) if index == 0 else activation(a) + a
        values: Tensor = self.linears[-1](z)
        return values


def train_released(
    task: Any, field: Any, recipe: Any, *, seed: int, epochs: int
) -> tuple[ReleasedStaf, dict[str, list[float]]]:
    """Train by mini-batches for the first `epochs` of the recipe's; columns step, loss (mean of the epoch), seconds."""
    device = task.target.device
    network = ReleasedStaf(field).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: recipe.schedule(epoch / recipe.epochs))
    generator = torch.Generator(device).manual_seed(seed)
    coordinates, target = task.batch(None).coordinates, task.target
    columns: dict[str, list[float]] = {"step": [], "loss": [], "seconds": []}
    steps = 0
    began = time.monotonic()
    for _ in range(epochs):
        order = torch.randperm(len(target), generator=generator, device=device)
        total = torch.zeros((), device=device)
        for index in order.split(recipe.batch):
            loss = (network(coordinates[index]) - target[index]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.detach() * len(index)
            steps += 1
        scheduler.step()
        columns["step"].append(steps - 1)
        columns["loss"].append(float(total) / len(target))
        columns["seconds"].append(time.monotonic() - began)
    return network, columns
