from __future__ import annotations

import math

import numpy as np
import torch

import staf
from staf.kinds import Image
from staf.operators import MaskedFourier, cartesian_mask
from staf.tasks.classical import measured
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.magnetic_resonance import MagneticResonance, coil_sensitivities, estimated_range, with_phase


def head(size: int = 32) -> Image:
    y, x = np.mgrid[0:size, 0:size] / (size - 1) * 2 - 1
    inside = np.hypot(y / 0.9, x / 0.7) < 1
    return Image((255 * (0.3 * inside + 0.5 * (np.hypot(y - 0.2, x) < 0.3) + 0.2 * (np.abs(x) < 0.1))).astype(np.uint8))


def test_wavelets_and_total_variation_are_above_zero_filling():
    draw = torch.Generator().manual_seed(0)
    seen = coil_sensitivities((32, 32), 4)
    operator = MaskedFourier(cartesian_mask((32, 32), 3, centre=0.2, generator=draw), seen)
    task = MagneticResonance.simulated(head(), operator, noise=0.01, held_out=0.05, generator=draw)
    found = {name: measured(task, of.values)["psnr"] for name, of in inverse_candidates(task).items()}
    assert list(found) == ["total variation", "wavelet-L1", "zero-filled"]
    assert found["zero-filled"] > 15
    assert found["wavelet-L1"] > found["zero-filled"] + 0.3
    assert found["total variation"] > found["zero-filled"] + 1


def test_a_field_is_fitted_through_the_transform():
    draw = torch.Generator().manual_seed(0)
    truth = head(24)
    operator = MaskedFourier(cartesian_mask((24, 24), 2, centre=0.2, generator=draw), coil_sensitivities((24, 24), 3))
    task = MagneticResonance.simulated(truth, operator, generator=draw, held_out=0.05)
    field = staf.siren(2, 1, width=32, depth=2, omega0=8.0, generator=torch.Generator().manual_seed(0))
    # The mean alone has 12.4 dB.
    assert staf.fit(task, field=field, steps=60, progress=False).metrics["psnr"] > 17


def test_held_out_frequencies_are_none_of_the_middle_and_the_same_for_all_coils():
    draw = torch.Generator().manual_seed(0)
    operator = MaskedFourier(torch.ones(16, 16, dtype=torch.bool), coil_sensitivities((16, 16), 2))
    task = MagneticResonance.simulated(head(16), operator, held_out=0.25, generator=draw)
    held = torch.zeros(2, 256, 2, dtype=torch.bool)
    held.view(-1)[task.held_out_index] = True
    assert bool((held == held[:1, :, :1]).all())
    assert int(held[0, :, 0].sum()) == 64
    assert not held[0, :, 0].reshape(16, 16)[8, 8]


def test_a_smooth_phase_is_found_from_the_middle():
    y, x = torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij")
    picture = head().values().reshape(32, 32) + 0.1
    turned = torch.polar(picture, 0.8 * x + 0.5 * y)
    full = torch.fft.fftshift(torch.fft.fftn(torch.fft.ifftshift(turned), norm="ortho"))
    operator = MaskedFourier(torch.ones(32, 32, dtype=torch.bool), with_phase(full[None], None))
    observation = torch.view_as_real(full.flatten())[None, None]
    found = operator.A_adjoint(observation)[0]
    assert float((found - picture).abs().mean()) < 0.01
    low, high = estimated_range(operator, observation)
    assert low == 0
    assert math.isclose(high, 1.2 * float(found.max()), rel_tol=1e-5)
