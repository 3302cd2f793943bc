"""Initialisation laws: their distributions, their constants, their generators."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats
from torch import nn

from staf.nn import SineSeries
from staf.nn.init import (
    Released,
    SirenStart,
    SirenWeights,
    Theorem,
    TorchWeights,
    UnitGainWeights,
    gamma,
    law_by_name,
    signed_root_laplace,
    uniform,
)
from staf.nn.linear import Linear


@pytest.mark.parametrize("terms", [1, 2, 5])
def test_amplitudes_have_the_density_of_the_theorem(terms: int, generator: torch.Generator) -> None:
    """CDF e^{-tau c^2/2}/2 below zero and 1 - e^{-tau c^2/2}/2 above."""
    drawn = signed_root_laplace((40_000,), 2 / terms, generator).numpy()

    def cdf(c):  # type: ignore[no-untyped-def]
        return (c >= 0) + (-1) ** (c >= 0) * 0.5 * math.e ** (-terms * c**2 / 2)

    assert stats.kstest(drawn, cdf).pvalue > 1e-3


@pytest.mark.parametrize(("law", "variance"), [(Theorem(), 1.0), (Released(), 0.25)])
def test_outputs_are_normal_over_draws(law: Theorem | Released, variance: float, generator: torch.Generator) -> None:
    """Theorem 3.1: one neuron at one input, over 400,000 initialisations."""
    amplitude, frequency, phase = law((400_000, 5), 30.0, generator)
    value = (amplitude * torch.sin(frequency * 0.37 + phase)).sum(-1) / math.sqrt(variance)
    assert abs(value.var().item() - 1) < 0.011
    assert abs(stats.kurtosis(value.numpy())) < 0.04
    assert stats.kstest(value[::20].numpy(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("law", [Theorem(), Released()])
def test_random_laws_bound_frequency_and_phase(law: Theorem | Released, generator: torch.Generator) -> None:
    _, frequency, phase = law((10_000, 3), 30.0, generator)
    assert 0 <= frequency.min() < 0.1
    assert 29.9 < frequency.max() <= 30
    assert frequency.mean().item() == pytest.approx(15, rel=0.02)
    assert phase.abs().max() <= math.pi
    assert phase.std().item() == pytest.approx(math.pi / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize(
    ("terms", "extra"),
    [(1, []), (2, [45.0]), (3, [30.0, 90.0]), (5, [18.0, 42.0, 66.0, 90.0])],
)
def test_siren_start_begins_as_siren(terms: int, extra: list[float], generator: torch.Generator) -> None:
    amplitude, frequency, phase = SirenStart()((terms,), 90.0, generator)
    assert (amplitude[0], frequency[0], phase[0]) == (1, 90, 0)
    assert frequency[1:].tolist() == pytest.approx(extra)


def test_siren_start_constants(generator: torch.Generator) -> None:
    amplitude, frequency, _ = SirenStart(0.3, "random")((20_000, 5), 30.0, generator)
    assert amplitude[:, 1:].square().mean().item() == pytest.approx(0.3**2 * 2 / 5, rel=0.03)
    assert frequency[:, 1:].mean().item() == pytest.approx(15, rel=0.02)
    assert (frequency[:, 0] == 30).all()


def test_unknown_laws_name_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'theorem'"):
        law_by_name("theorm")
    with pytest.raises(ValueError, match="even, random"):
        SirenStart(spread="evenly")  # type: ignore[arg-type]


def test_draws_never_give_an_infinite_amplitude(monkeypatch: pytest.MonkeyPatch) -> None:
    """u = 0 is a possible draw of U[0, 1), where the Laplace quantile is infinite."""
    monkeypatch.setattr(torch, "rand", lambda shape, **kwargs: torch.zeros(shape, dtype=torch.float64))
    assert torch.isfinite(signed_root_laplace((4,), 1.0, None)).all()


def test_gamma_has_its_moments(generator: torch.Generator) -> None:
    drawn = gamma((50_000,), 1.5, 2.0, generator)
    assert drawn.mean().item() == pytest.approx(0.75, rel=0.02)
    assert drawn.var().item() == pytest.approx(0.375, rel=0.05)
    again = gamma((50_000,), 1.5, 2.0, torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)


def test_without_a_generator_the_global_seed_decides() -> None:
    state = torch.get_rng_state()
    try:
        torch.manual_seed(1)
        first = uniform((3,), 0, 1, None)
        torch.manual_seed(1)
        assert torch.equal(uniform((3,), 0, 1, None), first)
    finally:
        torch.set_rng_state(state)


def bounds(linear: nn.Linear) -> tuple[float, float]:
    return linear.weight.abs().max().item(), linear.bias.abs().max().item()


def test_torch_weights_have_the_range_of_nn_linear(generator: torch.Generator) -> None:
    ours, theirs = Linear(64, 4096), nn.Linear(64, 4096)
    TorchWeights()(ours, "hidden", nn.ReLU(), generator)
    assert bounds(ours) == pytest.approx(bounds(theirs), rel=1e-2)
    assert bounds(ours) == pytest.approx((1 / 8, 1 / 8), rel=1e-2)
    assert stats.kstest(ours.weight.detach().flatten()[::13].numpy() * 8, "uniform", (-1, 2)).pvalue > 1e-3


def test_siren_weights(generator: torch.Generator) -> None:
    act = SineSeries(omega0=20)
    layer = Linear(96, 2048)
    SirenWeights()(layer, "hidden", act, generator)
    assert bounds(layer) == pytest.approx((0.25 / 20, 1 / math.sqrt(96)), rel=1e-2)
    SirenWeights(first_bias=5)(layer, "first", act, generator)
    assert bounds(layer) == pytest.approx((1 / 96, 5), rel=1e-2)
    SirenWeights()(layer, "output", act, generator)
    assert layer.weight.abs().max().item() == pytest.approx(0.25 / 20, rel=1e-2)
    with pytest.raises(TypeError, match="omega0"):
        SirenWeights()(layer, "hidden", nn.ReLU(), generator)


@pytest.mark.parametrize("width", [None, 512])
def test_unit_gain_weights_keep_the_size_of_gradients(width: int | None, generator: torch.Generator) -> None:
    """Over draws of the theorem's law, the rms gain of one layer is 1, where torch's weights would give 30/3."""
    gains = []
    for _ in range(40 if width is None else 3):
        act = SineSeries(5, 30, law="theorem", width=width, generator=generator)
        layer = Linear(512, 512)
        UnitGainWeights()(layer, "hidden", act, generator)
        variance = layer.weight.var(-1, correction=0)
        expected = 1 / (512 * act.frequency.detach().square().mean(-1))
        assert torch.allclose(variance.mean(), expected.mean(), rtol=0.05)
        x = torch.randn(256, 512, generator=generator)
        a = (0.05 * x @ layer.weight.T + layer.bias).detach().requires_grad_()
        (slope,) = torch.autograd.grad(act(a).sum(), a)
        gains.append((slope @ layer.weight).square().mean().item())
    assert sum(gains) / len(gains) == pytest.approx(1, rel=0.35)


def test_unit_gain_output_and_first(generator: torch.Generator) -> None:
    layer = Linear(400, 300)
    UnitGainWeights()(layer, "output", nn.ReLU(), generator)
    assert layer.weight.var().item() == pytest.approx(1 / 400, rel=0.02)
    UnitGainWeights()(layer, "first", nn.ReLU(), generator)
    assert layer.weight.abs().max().item() == pytest.approx(1 / 400, rel=0.02)
    with pytest.raises(TypeError, match="SineSeries"):
        UnitGainWeights()(layer, "hidden", nn.ReLU(), generator)
