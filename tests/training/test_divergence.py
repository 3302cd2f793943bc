"""One rule for one network and for many."""

from __future__ import annotations

import math

import pytest
import torch

from staf.training.divergence import Divergence


@pytest.fixture
def weights():
    return [torch.zeros(2, 3), torch.zeros(2)]


def test_a_network_that_stays_far_above_its_best_is_reported_once_with_its_best_weights(weights):
    divergence = Divergence(lambda: weights, 2, patience=50)
    assert divergence.look(0, torch.tensor([[1e-4, 1e-4]])) == {}
    for tensor in weights:
        tensor.add_(1.0)
    found = [divergence.look(step, torch.tensor([[0.5, 5e-3]])) for step in range(1, 60)]
    assert found.pop(50) == {0: "the loss stayed near 0.5 after 0.0001 at step 0"}
    assert not any(found)
    assert [tensor.tolist() for tensor in divergence.weights(0)] == [[0.0, 0.0, 0.0], 0.0]


def test_the_weights_of_the_best_loss_are_kept_for_each_network(weights):
    divergence = Divergence(lambda: weights, 2, patience=50)
    for step, losses in enumerate([(0.5, 0.5), (0.4, 0.6), (0.3, 0.1), (0.6, 0.2)]):
        for tensor in weights:
            tensor.add_(1.0)
        divergence.look(step, torch.tensor([losses]))
    assert divergence.best_step.tolist() == [2, 2]
    assert divergence.best.tolist() == pytest.approx([0.3, 0.1])
    divergence.look(4, torch.tensor([[0.05, 0.2]]))
    assert [float(divergence.weights(network)[1]) for network in (0, 1)] == [4.0, 2.0]


@pytest.mark.parametrize(
    ("losses", "sentence"),
    [
        ([math.nan], "the loss became nan"),
        ([0.3, math.inf, 9.0], "the loss became inf"),
        ([0.3, 7.0, math.nan], "the loss rose from 0.2 to 7"),
        ([1.9], None),
    ],
)
def test_what_counts_as_diverged(weights, losses, sentence):
    divergence = Divergence(lambda: weights, 2, patience=50)
    divergence.look(0, torch.tensor([[0.2, 0.2]]))
    found = divergence.look(1, torch.tensor([[loss, 0.1] for loss in losses]))
    assert found == ({} if sentence is None else {0: sentence})


def test_losses_after_the_divergence_do_not_change_what_is_kept(weights):
    divergence = Divergence(lambda: weights, 2, patience=50)
    divergence.look(0, torch.tensor([[0.2, 0.2]]))
    weights[1].add_(1.0)
    assert list(divergence.look(1, torch.tensor([[math.nan, 0.1]]))) == [0]
    weights[1].add_(1.0)
    assert divergence.look(2, torch.tensor([[1e-9, 0.05]])) == {}
    assert [float(divergence.weights(network)[1]) for network in (0, 1)] == [0.0, 1.0]
