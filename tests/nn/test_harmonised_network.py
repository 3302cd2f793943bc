"""INCODE: binding, gradients through the harmoniser, penalty, baking."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from staf.nn import Incode, build, incode, parameter_roles
from tests.nn.networks import OBSERVATIONS, observed, points


def field(signal: str | None = "image", **arguments: Any) -> Incode:
    made = incode(2, 3, width=8, depth=3, harmoniser=signal, generator=torch.Generator().manual_seed(0), **arguments)
    if signal is not None:
        made.bind(observed(signal))
    return made


def test_forward_is_the_formula() -> None:
    made = field(omega0=7, hidden_omega0=3)
    a, b, c, d = made.coefficients()
    z = points()
    for layer, omega0 in zip(made.composer.layers, (7, 3, 3), strict=True):
        z = torch.exp(a) * torch.sin(torch.exp(b) * omega0 * layer(z) + c) + d
    assert torch.allclose(made(points()), made.composer.output(z), atol=1e-5)


@pytest.mark.parametrize("signal", OBSERVATIONS)
def test_the_four_numbers_start_near_the_head_bias(signal: str) -> None:
    assert field(signal).coefficients().tolist() == pytest.approx([0.312] * 4, abs=0.05)
    assert field(signal, head_bias=-1.0).coefficients().tolist() == pytest.approx([-1] * 4, abs=0.05)


@pytest.mark.parametrize("signal", OBSERVATIONS)
def test_gradients_flow_through_the_harmoniser(signal: str) -> None:
    made = field(signal)
    made(points()).square().sum().backward()
    for name, parameter in made.harmoniser.named_parameters():
        assert parameter.grad is not None, name
    assert made.harmoniser.head[0].weight.grad.abs().max() > 0
    if signal != "audio":
        assert made.harmoniser.features.stem.weight.grad.abs().max() > 0


@pytest.mark.parametrize("signal", OBSERVATIONS)
def test_the_observation_decides(signal: str) -> None:
    made = field(signal)
    with torch.no_grad():
        made.harmoniser.head[0].weight.mul_(100)
        made.harmoniser.head[-1].weight.mul_(100)
    first = made(points())
    made.bind(SimpleNamespace(observation=observed(signal).observation.flip(-1) ** 3))
    assert not torch.allclose(made(points()), first)


def test_unbound_it_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"call field.bind\(task\)"):
        incode(2, 3, width=8)(points())


@pytest.mark.parametrize(("signal", "shape"), [("image", (3, 4)), ("audio", (4,)), ("shape", (1, 4, 4))])
def test_the_wrong_layout_is_refused(signal: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="observation must have the layout"):
        field(signal).bind(SimpleNamespace(observation=torch.rand(shape)))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_any_number_of_channels(channels: int) -> None:
    made = field()
    made.bind(SimpleNamespace(observation=torch.rand(channels, 9, 7)))
    assert made.observation.shape == (1, 3, 9, 7)
    assert torch.isfinite(made.coefficients()).all()


def test_large_shapes_are_read_at_128() -> None:
    made = field("shape")
    made.bind(SimpleNamespace(observation=torch.rand(1, 3, 256, 64)))
    assert made.observation.shape == (1, 3, 2, 128, 32)


def test_the_observation_moves_but_is_not_saved() -> None:
    made = field().to(torch.float64)
    assert made.observation.dtype == torch.float64
    assert "observation" not in made.state_dict()


def test_penalty_is_the_formula() -> None:
    made = field(None)
    with torch.no_grad():
        made.constants.copy_(torch.tensor([-1.0, -2.0, 0.5, -3.0]))
    assert made.penalty().item() == pytest.approx(0.1993 + 2 * 0.0196 + 3 * 0.0269)


def test_the_penalty_trains_the_harmoniser() -> None:
    made = field(head_bias=-0.3)
    made.penalty().backward()
    assert made.harmoniser.head[-1].bias.grad.tolist() == pytest.approx([-0.1993, -0.0196, -0.0588, -0.0269])


@pytest.mark.parametrize("signal", OBSERVATIONS)
def test_baked_it_is_the_same_function_from_its_architecture_alone(signal: str) -> None:
    made = field(signal, **({"sample_rate": 8000} if signal == "audio" else {}))
    baked = made.baked()
    assert torch.equal(baked(points()), made(points()))
    assert baked.harmoniser is None
    assert not any(key.startswith("harmoniser") for key in baked.state_dict())
    rebuilt = build(json.loads(json.dumps(baked.architecture)))
    assert rebuilt.architecture == baked.architecture
    rebuilt.load_state_dict(baked.state_dict())
    assert torch.equal(rebuilt(points()), made(points()))


def test_baking_leaves_the_original_alone() -> None:
    made = field()
    baked = made.baked()
    with torch.no_grad():
        for parameter in baked.parameters():
            parameter.zero_()
    assert made.harmoniser is not None
    assert made(points()).abs().max() > 0
    assert made.architecture["arguments"]["harmoniser"] == "image"
    assert baked.baked() is baked
    baked.bind(observed("image"))
    assert baked.observation is None


def test_the_head_sizes() -> None:
    sizes = {signal: [tuple(layer.weight.shape) for layer in field(signal).harmoniser.head] for signal in OBSERVATIONS}
    assert sizes == {
        "image": [(64, 64), (32, 64), (4, 32)],
        "denoising": [(32, 64), (16, 32), (8, 16), (4, 8)],
        "audio": [(50, 50), (32, 50), (4, 32)],
        "shape": [(64, 128), (32, 64), (4, 32)],
    }


def test_the_audio_head_has_as_many_parameters_as_published() -> None:
    assert sum(p.numel() for p in field("audio").harmoniser.parameters()) == 4_314


def test_the_head_for_noisy_images_normalises_its_layers() -> None:
    reader = field("denoising").harmoniser
    assert [norm.normalized_shape for norm in reader.norms] == [(32,), (16,), (8,)]
    assert not len(field("image").harmoniser.norms)
    made = field("denoising", head_bias=0.0005)
    assert made.coefficients().abs().max() < 0.1


def test_the_number_of_threads_does_not_change_what_the_harmoniser_learns() -> None:
    """Products of matrices are left out: on some processors torch sums those in an order that follows its threads."""
    before = torch.get_num_threads()
    inputs = torch.rand(16387, 2, generator=torch.Generator().manual_seed(0))
    states = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            made = field("audio")
            made(inputs).square().mean().backward()
            states.append([parameter.grad for parameter in made.harmoniser.parameters()])
    finally:
        torch.set_num_threads(before)
    for more in states[1:]:
        assert all(torch.equal(one, other) for one, other in zip(states[0], more, strict=True))


def test_only_the_composer_has_matrices() -> None:
    roles = parameter_roles(field())
    assert [name for name, role in roles.items() if role == "matrix"] == [
        "composer.layers.1.weight",
        "composer.layers.2.weight",
    ]
