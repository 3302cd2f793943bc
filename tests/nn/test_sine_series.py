"""The activation module: sharing, freezing, starting values."""

from __future__ import annotations

import pytest
import torch

from staf.nn import SineSeries
from staf.nn.init import SirenStart


def by_formula(act: SineSeries, x: torch.Tensor) -> torch.Tensor:
    amplitude, frequency, phase = (part.double() for part in act.sinusoids)
    return (amplitude * torch.sin(frequency * x.double()[..., None] + phase)).sum(-1)


@pytest.mark.parametrize("width", [None, 6])
@pytest.mark.parametrize("law", ["siren_start", "theorem", "released"])
def test_equals_the_formula(width: int | None, law: str, generator: torch.Generator) -> None:
    act = SineSeries(4, 10, width=width, law=law, generator=generator)
    x = torch.randn(3, 5, 6, generator=generator)
    assert act.amplitude.shape == ((4,) if width is None else (6, 4))
    assert torch.allclose(act(x).double(), by_formula(act, x), atol=2e-5)


def test_one_term_is_siren() -> None:
    x = torch.linspace(-1, 1, 30)[:, None]
    assert torch.allclose(SineSeries(1, 30)(x), torch.sin(30 * x), atol=1e-6)


@pytest.mark.parametrize("train", [(), ("amplitude",), ("frequency", "phase")])
def test_frozen_parts_are_saved_but_not_trained(train: tuple[str, ...], generator: torch.Generator) -> None:
    act = SineSeries(3, train=train, generator=generator)
    assert [name for name, _ in act.named_parameters()] == list(train)
    assert act.state_dict().keys() == {"amplitude", "frequency", "phase"}
    other = SineSeries(3, train=train, generator=generator)
    other.load_state_dict(act.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(act.sinusoids, other.sinusoids, strict=True))


def test_frozen_or_not_the_start_is_the_same() -> None:
    frozen, trained = (SineSeries(5, train=t, generator=torch.Generator().manual_seed(2)) for t in ((), ("phase",)))
    assert all(torch.equal(a, b) for a, b in zip(frozen.sinusoids, trained.sinusoids, strict=True))


def test_a_law_object_carries_its_constants(generator: torch.Generator) -> None:
    assert SineSeries(5, law=SirenStart(extra_amplitude=0.0), generator=generator).amplitude.tolist() == [1, 0, 0, 0, 0]


def test_arguments_are_checked_and_named() -> None:
    with pytest.raises(ValueError, match="terms must be from 1 to 4096, got 0"):
        SineSeries(0)
    with pytest.raises(ValueError, match="omega0"):
        SineSeries(omega0=-1)
    with pytest.raises(ValueError, match="did you mean 'amplitude'"):
        SineSeries(train=["amplitud"])
    with pytest.raises(TypeError, match=r"train must be a collection .* such as \('phase',\), got 'phase'"):
        SineSeries(train="phase")
    with pytest.raises(ValueError, match="did you mean 'released'"):
        SineSeries(law="release")


def test_repr_says_what_is_frozen() -> None:
    assert "frozen=['frequency']" in repr(SineSeries(2, train=("amplitude", "phase"), width=3))
