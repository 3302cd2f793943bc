"""The cost model against torch's own count, and the floor by hand."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.costs import Cost, Kernel, cost
from benchmarks.rates import Rates
from staf.benchmarking.released_networks import ReleasedNetwork
from tests.benchmarking.tiny import tiny


@pytest.mark.parametrize("train", [False, True])
def test_flops_are_those_that_torch_counts(train):
    field = tiny(model="siren", depth=3).field("cpu")
    released = ReleasedNetwork(field)
    counter = FlopCounterMode(display=False)
    with counter:
        values = released(torch.zeros(10, 2))
        if train:
            values.sum().backward()
    assert cost(field, 10, train=train).flops == counter.get_total_flops()


def test_a_complex_product_counts_as_four(generator):
    field = tiny(model="wire", depth=2).field("cpu")
    width = field.layers[1].in_features
    assert cost(field, 7, train=False).flops == 7 * (2 * 2 * width + 8 * width * width + 8 * width * 3)


def test_bytes_of_a_forward_pass_by_hand():
    field = tiny(model="siren", depth=1, width=8).field("cpu")
    # products: 2 -> 8 and 8 -> 3; the activation reads 8 and writes 8
    assert cost(field, 5, train=False).bytes == 5 * 4 * (2 + 8 + 8 + 3 + 8 + 8)


def test_the_floor_takes_the_slower_of_arithmetic_traffic_and_sines():
    rates = Rates({"fp32": 10.0, "tf32": 100.0}, copy=2.0, sines=1.0)
    work = Cost((Kernel(flops=100, bytes=4), Kernel(bytes=8, sines=3), Kernel(bytes=2, sines=5)))
    assert work.floor_seconds(rates, "fp32") == 10 + 4 + 5
    assert work.floor_seconds(rates, "tf32") == 2 + 4 + 5
    assert work.floor_seconds(Rates({"fp32": 10.0}, copy=2.0), "fp32") == 10 + 4 + 1


def test_more_terms_cost_more_sines_only():
    field = tiny().field("cpu")
    few, many = (cost(field, 5, train=True, terms=terms) for terms in (1, 50))
    assert (few.flops, few.bytes) == (many.flops, many.bytes)
    assert sum(k.sines for k in many.kernels) == 50 * sum(k.sines for k in few.kernels) == 50 * 5 * 3 * 8 * 2
