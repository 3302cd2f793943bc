"""Classical tomography: filtered backprojection (Feldkamp's for cones), and SART with total variation."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from staf._typing import Float
from staf.operators import BeamIntegrals, RayIntegrals
from staf.tasks.chambolle import chambolle
from staf.tasks.filling import filled

# Cut-offs of the Hann window over the ramp, in shares of the highest frequency; 0 is the ramp alone, which is taken
# where nothing is held out to choose by.
WINDOWS = (1.0, 0.0, 0.5)
# Of the total variation after each turn, in units of the value range; the third is taken where nothing is held out to
# choose by. A slice of 128x128 without noise and 150 views: 1e-2 has 24.4 dB, 3e-3 26.1.
SART_WEIGHTS = (1e-3, 1e-2, 3e-3, 3e-2)
TURNS = 15
SUBSETS = 10
RELAXATION = 0.7


def filtered_backprojection(
    operator: BeamIntegrals, observation: Float[Tensor, "c ..."], seen: Tensor, window: float = 0.0
) -> Float[Tensor, "c ..."]:
    """Projections weighted, filtered by the ramp, and spread back along their rays; for cones by Feldkamp's formula.

    Views of which nothing is `seen` have no part in it; single rays that are not seen are filled in. For a source at
    distance D, a ray through u and v on the detector, moved to the axis, has the weight D / sqrt(D^2 + u^2 + v^2), and
    a cell at the distance D + t from the source gets D^2 / (D + t)^2 times what is filtered.

    >>> from staf.operators import parallel_beam
    >>> operator = parallel_beam((24, 24), torch.arange(30) * math.pi / 30)
    >>> axis = torch.arange(24.0) - 11.5
    >>> disc = ((axis[:, None] ** 2 + axis**2) < 64).float()[None]
    >>> everything = torch.ones(operator.output_shape, dtype=torch.bool)
    >>> (filtered_backprojection(operator, operator.A(disc), everything) - disc).abs().mean().item() < 0.06
    True
    """
    used = seen.flatten(1).any(1)
    beam = replace(operator.beam, angles=operator.beam.angles[used.cpu()])
    far = math.isfinite(beam.source_distance)
    data, seen = observation[:, used], seen[used]
    data = data if bool(seen.all()) else filled(data, seen)
    size = beam.detector_size
    if far:
        size *= beam.source_distance / (beam.source_distance + beam.detector_distance)
    # A picture is a volume of one layer, and its detector one row.
    views = data[:, :, None] if data.dim() == 3 else data
    rows, columns = views.shape[2:]
    across = (torch.arange(columns, dtype=torch.float64) - (columns - 1) / 2) * size
    down = (torch.arange(rows, dtype=torch.float64) - (rows - 1) / 2) * size
    if far:
        distance = beam.source_distance
        views = views * (distance / (distance**2 + down[:, None] ** 2 + across**2).sqrt()).to(views)
    views = ramp_filtered(views, size, window)
    shape, spacing = operator.input_shape, operator.spacing
    places = [
        (torch.arange(n, dtype=torch.float64) - (n - 1) / 2) * side for n, side in zip(shape, spacing, strict=True)
    ]
    height = places[0] if len(shape) == 3 else torch.zeros(1, dtype=torch.float64)
    y, x = torch.meshgrid(*places[-2:], indexing="ij")
    total = views.new_zeros(len(views), len(height), *shape[-2:])
    for number, angle in enumerate(beam.angles.double()):
        cos, sin = angle.cos(), angle.sin()
        spread = 1 + (cos * y + sin * x) / beam.source_distance if far else torch.ones_like(y)
        sideways = (cos * x - sin * y) / spread
        upright = height[:, None, None] / spread
        at = torch.stack(
            [(sideways / across[-1].clamp(min=size)).expand(upright.shape), upright / down[-1].clamp(min=size)], -1
        )
        drawn = torch.nn.functional.grid_sample(
            views[:, number][None], at.reshape(1, 1, -1, 2).to(views), align_corners=True, padding_mode="zeros"
        )
        total += drawn.reshape(total.shape) / spread.square().to(views)
    total *= beam.step
    return total if len(shape) == 3 else total[:, 0]


def ramp_filtered(views: Tensor, size: float, window: float = 0.0, power: float = 1.0) -> Tensor:
    """The last axis, samples `size` apart, convolved with the ramp's samples, under a Hann window if there is one.

    `power` is that of the ramp |w|: 1/2 is the filter after which all of a picture's frequencies count the same.
    """
    columns = views.shape[-1]
    length = 2 ** math.ceil(math.log2(2 * columns))
    place = torch.cat([torch.arange(length // 2), torch.arange(-(length // 2), 0)]).double()
    odd = place.abs() % 2 == 1
    kernel = torch.where(odd, -1 / (math.pi * place.where(odd, torch.ones_like(place)) * size) ** 2, 0.0)
    kernel[0] = 1 / (4 * size**2)
    response = (torch.fft.rfft(kernel).real * size).clamp(min=0) ** power
    if window > 0:
        frequency = torch.fft.rfftfreq(length, dtype=torch.float64) / (0.5 * window)
        response = response * torch.where(frequency < 1, 0.5 + 0.5 * torch.cos(math.pi * frequency), 0.0)
    transformed = torch.fft.rfft(views, length) * response.to(views)
    return torch.fft.irfft(transformed, length)[..., :columns]


def sart(operator: RayIntegrals, observation: Tensor, seen: Tensor, weight: float) -> Tensor:
    """Simultaneous algebraic reconstruction, a part of the views at a time, and total variation after each turn.

    x <- x + C A' R (y - A x), with R and C one over the sums of A's rows and columns; x is kept from being negative.
    """
    y, known = observation.flatten(1), seen.flatten().to(observation.dtype)
    x = observation.new_zeros(len(observation), *operator.input_shape)
    parts = []
    for of, part in operator.subsets(SUBSETS):
        lengths = part.A(x.new_ones(1, *operator.input_shape))[0]
        inverse = torch.where(lengths > 1e-6, 1 / lengths.clamp(min=1e-6), 0.0) * known[of]
        reached = part.A_adjoint(known[of][None])[0]
        parts.append((of, part, inverse, torch.where(reached > 1e-6, 1 / reached.clamp(min=1e-6), 0.0)))
    for _ in range(TURNS):
        for of, part, inverse, share in parts:
            x = x + RELAXATION * share * part.A_adjoint((y[:, of] - part.A(x)) * inverse)
            x = x.clamp(min=0)
        x = chambolle(x, weight, steps=20)
    return x
