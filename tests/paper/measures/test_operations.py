from __future__ import annotations

import pytest
import torch
from torch import nn

from paper.experiments.cost_table import PUBLISHED, ROWS
from paper.measures.operations import operations
from staf.nn import NETWORKS, gauss, siren, staf


def test_products_are_those_that_the_paper_counts():
    found = {}
    for row in ROWS:
        network = NETWORKS[row.model].factory(2, 3, **row.arguments)
        field = network.composer if row.model == "incode" else network
        parameters = sum(p.numel() for p in network.parameters())
        found[row.name] = {"parameters": parameters, "products": operations(field, 2).products}
    for name in ("staf, tau 5", "staf, tau 10", "finer", "gauss", "siren", "mfn", "ffn, 5 bands"):
        assert found[name]["products"] == pytest.approx(PUBLISHED[name]["flops"], abs=5)
    # The paper's counter has the ReLUs of this row alone.
    assert found["pemlp"]["products"] + 1024 == pytest.approx(PUBLISHED["pemlp"]["flops"], abs=5)
    # It counts a complex product as a real one, which is a quarter of the work.
    assert found["wire"]["products"] == pytest.approx(4 * PUBLISHED["wire"]["flops"], rel=0.003)
    for name, published in PUBLISHED.items():
        assert found[name]["parameters"] == published["parameters"]


def test_sinusoids_cost_in_proportion_to_their_number():
    one, five, fifty = (operations(staf(2, 3, terms=terms), 2).elementwise for terms in (1, 5, 50))
    neurons = 4 * 256
    assert five - one == 4 * 5 * neurons, "product with Omega, sum with Phi, sine, product with C, and their sum"
    assert fifty - five == 45 * 5 * neurons


def test_a_linear_layer_and_an_activation_by_hand():
    plain = nn.Sequential(nn.Linear(20, 30), nn.Tanh())
    found = operations(plain, 20)
    assert (found.products, found.by_name) == (2 * 20 * 30, {"tanh": 30})
    assert found.total == 1230
    assert operations(gauss(2, 3), 2).products == operations(siren(2, 3), 2).products


def test_nothing_is_left_behind_of_the_count():
    field = siren(2, 1, width=8)
    operations(field, 2)
    assert all(parameter.grad is None for parameter in field.parameters())
    assert torch.is_grad_enabled()
