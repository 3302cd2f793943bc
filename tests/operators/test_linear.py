"""Every linear operator, held to one list of properties."""

from __future__ import annotations

import pytest
import torch

from staf.operators import (
    AreaDownsampling,
    Composed,
    GaussianBlur,
    Gradient,
    Laplacian,
    LinearOperator,
    Mask,
    MaskedFourier,
    SampleMeans,
    Window,
    cone_beam,
    fan_beam,
    parallel_beam,
)

ANGLES = torch.linspace(0, 3, 5)
COILS = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(4), dtype=torch.complex128)
MASK = torch.rand(5, 7, generator=torch.Generator().manual_seed(3)) < 0.4
OPERATORS = {
    "area 1, one axis": AreaDownsampling((9,), 1),
    "area 1": AreaDownsampling((5, 7), 1),
    "area 2": AreaDownsampling((6, 8), 2),
    "area 3, one axis": AreaDownsampling((12,), 3),
    "area 2, three axes": AreaDownsampling((4, 2, 6), 2),
    "area to one cell": AreaDownsampling((5, 5), 5),
    "mask": Mask(MASK),
    "mask, one seen": Mask(torch.tensor([False, True, False])),
    "blur": GaussianBlur((6, 8), 1.2),
    "blur wider than the picture": GaussianBlur((4,), 3.0),
    "blur, then coarser": Composed(GaussianBlur((6, 8), 1.0), AreaDownsampling((6, 8), 2)),
    "gradient": Gradient((5, 7)),
    "Laplacian": Laplacian((5, 7)),
    "window": Window(MASK),
    "gradient inside": Composed(Window(MASK), Gradient((5, 7)), Mask(torch.stack([MASK, ~MASK]))),
    "Fourier": MaskedFourier(MASK),
    "Fourier, two coils": MaskedFourier(MASK, COILS),
    "parallel rays": parallel_beam((6, 5), ANGLES),
    "cone of rays": cone_beam(
        (3, 5, 4), ANGLES, source_distance=9, detector_distance=9, detectors=(4, 5), detector_size=2.0
    ),
    "some rays": parallel_beam((6, 5), ANGLES).part(torch.tensor([3, 17, 20])),
    "fan of rays": fan_beam((6, 5), ANGLES, source_distance=10, detector_distance=10, detectors=9, detector_size=2.0),
}


@pytest.fixture(params=OPERATORS, ids=str)
def operator(request):
    return OPERATORS[request.param]


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)], ids=str)
def test_adjointness(operator, leading):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(*leading, *operator.input_shape, generator=generator, dtype=torch.float64)
    y = torch.randn(*leading, *operator.output_shape, generator=generator, dtype=torch.float64)
    assert operator.A(x).shape == y.shape
    assert operator.A_adjoint(y).shape == x.shape
    torch.testing.assert_close((operator.A(x) * y).sum(), (x * operator.A_adjoint(y)).sum(), rtol=1e-12, atol=1e-12)


def test_linearity(operator):
    generator = torch.Generator().manual_seed(1)
    x, z = (torch.randn(operator.input_shape, generator=generator, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(operator.A(2 * x - z), 2 * operator.A(x) - operator.A(z))


def test_the_adjoint_is_the_gradient(operator):
    x = torch.zeros(operator.input_shape, dtype=torch.float64, requires_grad=True)
    y = torch.randn(operator.output_shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    (operator.A(x) * y).sum().backward()
    torch.testing.assert_close(x.grad, operator.A_adjoint(y))


def test_wrong_shapes_are_refused(operator):
    assert isinstance(operator, LinearOperator)
    with pytest.raises(ValueError, match="x must end in the axes"):
        operator.A(torch.zeros(*operator.input_shape, 2))
    with pytest.raises(ValueError, match="y must end in the axes"):
        operator.A_adjoint(torch.zeros(*operator.output_shape, 2))


@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if isinstance(operator, SampleMeans)])
def test_samples_of_an_observation_have_it_as_their_mean(name):
    operator = OPERATORS[name]
    x = torch.randn(operator.input_shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    index = torch.arange(torch.Size(operator.output_shape).numel()).flip(0)
    means = x.flatten()[operator.samples_of(index)].mean(0)
    torch.testing.assert_close(means, operator.A(x).flatten()[index])
