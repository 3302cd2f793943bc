from __future__ import annotations

import pytest
import torch

from benchmarks.sweeps.learn_restoring import NETWORKS, crops
from tests.tasks.test_learned_enlarging import photo


@pytest.mark.parametrize("name", list(NETWORKS))
def test_steps_lessen_the_loss_of_a_network(name, monkeypatch):
    monkeypatch.setattr("benchmarks.sweeps.learn_restoring.SMOOTHING", 5)
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(0)
    parts = crops([torch.nn.functional.interpolate(photo()[None], size=(100, 99))[0]], 4, draw)
    assert parts.shape[1:] == (3, 96, 96)
    make, prepare = NETWORKS[name]
    network, estimates = make(), prepare(parts, 2, draw)
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    losses = []
    for _ in range(4):
        found, wanted = estimates(network, torch.Generator().manual_seed(1))
        losses.append((found - wanted).square().mean())
        optimiser.zero_grad()
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < losses[0]
