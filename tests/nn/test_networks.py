"""Parameter counts of the paper's tables, and architectures from files that are not trusted."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from staf.nn import NETWORKS, build, siren, staf


def count(name: str, *sizes: int, **arguments: Any) -> int:
    return sum(
        parameter.numel() for parameter in NETWORKS[name].factory(*sizes, device="meta", **arguments).parameters()
    )


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("staf", {"terms": 5}, 198_975),
        ("staf", {"terms": 10}, 199_035),
        ("siren", {}, 198_915),
        ("finer", {}, 198_915),
        ("gauss", {}, 198_915),
        ("wire", {}, 99_915),
        ("mfn", {"filters": "gabor"}, 204_291),
        ("pemlp", {}, 206_083),
        ("ffn", {"bands": 5}, 204_035),
        ("ffn", {}, 329_475),
        ("incode", {}, 436_775),
    ],
)
def test_counts_of_the_cost_table(name: str, arguments: dict[str, Any], expected: int) -> None:
    assert count(name, 2, 3, **arguments) == expected


def test_counts_of_the_variants() -> None:
    assert count("wire", 2, 3, planar=True) == 100_227
    assert count("mfn", 2, 3, filters="fourier") == 201_219


def test_counts_of_the_matched_parameter_figure() -> None:
    assert count("siren", 2, 1, depth=5) == 264_193
    assert count("staf", 2, 1, sharing="neuron", terms=5) == 213_761
    assert count("staf", 2, 1) == 198_461


def test_wire_holds_this_many_real_scalars() -> None:
    parameters = NETWORKS["wire"].factory(2, 3, device="meta").parameters()
    assert sum(parameter.numel() * (2 if parameter.is_complex() else 1) for parameter in parameters) == 199_287


@pytest.mark.parametrize(
    ("train", "expected"),
    [((), 198_915), (("amplitude",), 198_935), (("amplitude", "phase"), 198_955)],
)
def test_frozen_sinusoids_do_not_count(train: tuple[str, ...], expected: int) -> None:
    assert count("staf", 2, 3, train=train) == expected


def test_defaults_of_staf() -> None:
    """SIREN's weights and starting point, 90 in the first layer and 30 in the others."""
    field = staf(2, 3, generator=torch.Generator().manual_seed(0))
    for layer, omega0 in enumerate((90.0, 30.0, 30.0, 30.0)):
        amplitude, frequency, phase = field.activation(layer).sinusoids
        assert (amplitude[0], frequency[0], phase[0]) == (1, omega0, 0)
        assert frequency[1:].tolist() == pytest.approx([omega0 * k for k in (0.2, 0.2 + 0.8 / 3, 0.2 + 1.6 / 3, 1)])
        assert amplitude[1:].abs().max() < 0.5
    assert field.layers[0].weight.abs().max().item() == pytest.approx(1 / 2, rel=0.05)
    assert field.layers[1].weight.abs().max().item() == pytest.approx(math.sqrt(6 / 256) / 30, rel=0.01)
    assert field.output.weight.abs().max().item() == pytest.approx(math.sqrt(6 / 256) / 30, rel=0.05)


def test_siren_keeps_the_size_of_activations() -> None:
    """Sitzmann et al.: every layer's outputs are close to the arcsine law, of variance 1/2."""
    field = siren(2, 3, generator=torch.Generator().manual_seed(0))
    z = torch.rand(4000, 2, generator=torch.Generator().manual_seed(1)) * 2 - 1
    for index, layer in enumerate(field.layers):
        z = field.activation(index)(layer(z))
        assert z.var().item() == pytest.approx(0.5, abs=0.06)


def test_network_sharing_uses_one_omega0() -> None:
    field = staf(2, 3, width=8, sharing="network")
    assert field.activation(3).omega0 == 90
    with pytest.raises(ValueError, match="hidden_omega0 must be omega0, 60"):
        staf(2, 3, sharing="network", omega0=60, hidden_omega0=30)


@pytest.mark.parametrize(
    ("name", "arguments", "unused"),
    [
        ("staf", {"law": "theorem", "extra_amplitude": 0.3}, "extra_amplitude"),
        ("staf", {"law": "released", "spread": "random"}, "spread"),
        ("ffn", {"bands": 5, "features": 16}, "features"),
        ("ffn", {"bands": 5, "scale": 3.0}, "scale"),
        ("mfn", {"filters": "fourier", "alpha": 3.0}, "alpha"),
        ("incode", {"sample_rate": 8000}, "sample_rate"),
    ],
)
def test_arguments_without_effect_are_refused(name: str, arguments: dict[str, Any], unused: str) -> None:
    with pytest.raises(ValueError, match=f"{unused} has no effect"):
        NETWORKS[name].factory(2, 3, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"law": "theorm"}, "did you mean 'theorem'"),
        ({"weights": "sirens"}, "did you mean 'siren'"),
        ({"sharing": "neurons"}, "did you mean 'neuron'"),
        ({"sharing": "xyz"}, "the choices are layer, neuron, network"),
        ({"train": ("phases",)}, "did you mean 'phase'"),
        ({"spread": "evn"}, "did you mean 'even'"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        staf(2, 3, **arguments)


GOOD = {"in_features": 2, "out_features": 3}


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        (None, "dictionary of 'name' and 'arguments'"),
        ([], "dictionary of 'name' and 'arguments'"),
        ("siren", "dictionary of 'name' and 'arguments'"),
        ({"name": "siren"}, "dictionary of 'name' and 'arguments'"),
        ({"name": "siren", "arguments": GOOD, "code": "import os"}, "dictionary of 'name' and 'arguments'"),
        ({"name": "sirem", "arguments": GOOD}, "did you mean 'siren'"),
        ({"name": "__import__", "arguments": GOOD}, "no known network"),
        ({"name": "build", "arguments": GOOD}, "no known network"),
        ({"name": "os.system", "arguments": {"command": "true"}}, "no known network"),
        ({"name": ["siren"], "arguments": GOOD}, "name must be a string"),
        ({"name": "siren", "arguments": [2, 3]}, "must be a dictionary"),
        ({"name": "siren", "arguments": {"in_features": 2}}, "needs the argument 'out_features'"),
        ({"name": "siren", "arguments": {**GOOD, "widht": 8}}, "did you mean 'width'"),
        ({"name": "siren", "arguments": {**GOOD, "generator": None}}, "no argument 'generator'"),
        ({"name": "siren", "arguments": {**GOOD, "device": "cuda"}}, "no argument 'device'"),
        ({"name": "siren", "arguments": {**GOOD, "__class__": 1}}, "no argument '__class__'"),
        ({"name": "siren", "arguments": {**GOOD, 3: 1}}, "no argument 3"),
        ({"name": "siren", "arguments": {**GOOD, "width": "256"}}, "width must be an integer, got '256'"),
        ({"name": "siren", "arguments": {**GOOD, "width": 256.0}}, "width must be an integer, got 256.0"),
        ({"name": "siren", "arguments": {**GOOD, "width": True}}, "width must be an integer, got True"),
        ({"name": "siren", "arguments": {**GOOD, "width": None}}, "width must be an integer, got None"),
        ({"name": "siren", "arguments": {**GOOD, "width": -1}}, "width must be from 1 to 65536, got -1"),
        ({"name": "siren", "arguments": {**GOOD, "width": 10**12}}, "width must be from 1 to 65536"),
        ({"name": "siren", "arguments": {**GOOD, "width": 10**5000}}, "an integer of 16610 bits"),
        ({"name": "siren", "arguments": {**GOOD, "depth": 10**9}}, "depth must be from 1 to 256"),
        ({"name": "siren", "arguments": {**GOOD, "width": 2**16, "depth": 200}}, "more than the"),
        ({"name": "siren", "arguments": {**GOOD, "omega0": math.nan}}, "omega0 must be finite, got nan"),
        ({"name": "siren", "arguments": {**GOOD, "omega0": math.inf}}, "omega0 must be finite, got inf"),
        ({"name": "siren", "arguments": {**GOOD, "omega0": 10**400}}, "omega0 must be from"),
        ({"name": "siren", "arguments": {**GOOD, "omega0": 0}}, "omega0 must be from"),
        ({"name": "siren", "arguments": {**GOOD, "omega0": [30]}}, "omega0 must be a number"),
        ({"name": "siren", "arguments": {**GOOD, "in_features": 0}}, "in_features must be from"),
        ({"name": "staf", "arguments": {**GOOD, "terms": 10**6}}, "terms must be from"),
        ({"name": "staf", "arguments": {**GOOD, "skip": 1}}, "skip must be true or false, got 1"),
        ({"name": "staf", "arguments": {**GOOD, "train": "phase"}}, "train must be a list"),
        ({"name": "staf", "arguments": {**GOOD, "train": ["phase"] * 1000}}, "at most 16 entries"),
        ({"name": "staf", "arguments": {**GOOD, "train": ["phase", "phase"]}}, "must not repeat"),
        ({"name": "staf", "arguments": {**GOOD, "law": 3}}, "law must be a string"),
        ({"name": "staf", "arguments": {**GOOD, "law": "x" * 10**6}}, "law is 'xxx"),
        ({"name": "incode", "arguments": {**GOOD, "penalty": [1, 2]}}, "penalty must have 4 entries, got 2"),
        ({"name": "pemlp", "arguments": {**GOOD, "bands": 10**4}}, "bands must be from 1 to 32"),
    ],
)
def test_hostile_architectures_are_refused(architecture: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        build(architecture)
    assert len(str(caught.value)) < 600


def test_whole_numbers_are_accepted_where_numbers_are() -> None:
    assert siren(2, 3, width=4, omega0=30).architecture == siren(2, 3, width=4, omega0=30.0).architecture


def test_two_values_for_one_argument() -> None:
    with pytest.raises(TypeError, match="two values for 'in_features'"):
        siren(2, 3, in_features=4)
