"""Every named result, for a fresh network and for one that is passed."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import torch

from staf.nn import siren, staf
from staf.theory.registry import RESULTS, Result

SLOW = {"layers"}


def small_field() -> torch.nn.Module:
    return staf(2, 1, width=2, depth=2, terms=2, omega0=3, hidden_omega0=1, generator=torch.Generator().manual_seed(0))


@cache
def of_small_field(name: str) -> Result:
    return RESULTS[name].run(small_field(), 0)


@cache
def of_fresh_network(name: str) -> Result:
    return RESULTS[name].run(None, 3)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_for_a_network(name: str) -> None:
    result = of_small_field(name)
    assert result.rows
    assert all(label and value for label, value in result.rows)
    lines = result.text().splitlines()
    assert lines[0] == result.heading
    assert len(lines) == 1 + len(result.rows)


@pytest.mark.parametrize("name", sorted(set(RESULTS) - SLOW))
def test_results_for_a_fresh_network_depend_on_the_seed_alone(name: str) -> None:
    first, again = of_fresh_network(name), RESULTS[name].run(None, 3)
    assert first.text() == again.text()
    for key, value in first.data.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, again.data[key])


def test_network_changes_the_rows() -> None:
    for name in ("initialisation", "gradient-gain", "sine-of-uniform", "potential-frequencies", "kernels"):
        assert of_small_field(name).rows != of_fresh_network(name).rows


def test_kernels_name_each_layer_once() -> None:
    labels = [label for label, _ in of_small_field("kernels").rows]
    assert labels == ["layer 1, tau = 2", "layer 2, tau = 2"]
    result = RESULTS["kernels"].run(siren(2, 1, width=2, depth=3, generator=torch.Generator().manual_seed(0)), 0)
    assert [label for label, _ in result.rows] == ["layers 1, 2, 3, tau = 1"]


def test_single_precision_networks_are_compared_in_double() -> None:
    assert next(small_field().parameters()).dtype is torch.float32
    rows = dict(of_small_field("jacobi-anger").rows)
    assert float(rows["measured on 500 points"]) <= float(rows["bound on the truncation error"]) + 1e-13
    rows = dict(of_small_field("kronecker").rows)
    assert float(rows["largest difference on 2,000 points"].split()[0]) < 1e-13


def test_descriptions_are_one_line_and_no_matplotlib_is_loaded() -> None:
    assert all(entry.description and "\n" not in entry.description for entry in RESULTS.values())
    code = (
        "import sys; from staf.theory.registry import RESULTS; RESULTS['potential-frequencies'].run(None, 0); "
        "sys.exit('matplotlib' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_per_neuron_sinusoids_are_named_as_the_first_neurons() -> None:
    field = staf(2, 1, width=4, depth=2, terms=2, sharing="neuron", generator=torch.Generator().manual_seed(0))
    for name in ("kernels", "initialisation"):
        assert "(first neuron)" in RESULTS[name].run(field, 0).rows[0][0]
        assert "(first neuron)" not in of_small_field(name).rows[0][0]


def test_curves_of_a_passed_network_are_named_by_layer() -> None:
    assert of_small_field("kernels").data["names"][:2] == ["layer 1, τ = 2", "layer 2, τ = 2"]
