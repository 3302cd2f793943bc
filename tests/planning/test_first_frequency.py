from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from staf.kinds import Audio, Image
from staf.kinds.shape.plan import RULES
from staf.planning import first_frequency, plan, spectrum

RNG = np.random.default_rng(0)


def photo(side: int, seed: int = 0) -> np.ndarray:
    """Random phases whose amplitudes fall like 1/f, as those of photographs do."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side), indexing="ij"))
    frequency[0, 0] = np.inf
    values = np.fft.ifft2(np.fft.fft2(rng.standard_normal((side, side))) / frequency).real
    return (0.5 + 0.15 * values / values.std()).clip(0, 1).astype(np.float32)


def blurred(values: np.ndarray, sigma: float) -> np.ndarray:
    kernel = [np.exp(-((2 * np.pi * sigma * np.fft.fftfreq(size)) ** 2) / 2) for size in values.shape]
    return np.fft.ifft2(np.fft.fft2(values) * np.outer(*kernel)).real.astype(np.float32)


def test_amplitudes_are_those_of_the_cosine_series():
    """Against the definition: products with an orthonormal basis of cosines."""
    piece = torch.from_numpy(RNG.standard_normal((6, 5, 2))).float()

    def basis(size: int) -> torch.Tensor:
        k = torch.arange(size, dtype=torch.float64)
        rows = torch.cos(torch.pi * k[:, None] * (k + 0.5) / size) * (2 / size) ** 0.5
        return rows

    wanted = torch.einsum("ai,bj,ijc->abc", basis(6), basis(5), (piece - piece.mean((0, 1))).double())
    wanted = wanted.square().mean(-1).sqrt()
    wanted[0, 0] = 0
    torch.testing.assert_close(spectrum.amplitudes([piece]), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("cycles", [3, 10, 31])
def test_a_wave_has_its_own_frequency(cycles):
    x = (np.arange(64) + 0.5) / 64
    wave = np.cos(2 * np.pi * cycles * x)[:, None].repeat(64, 1)
    frequency, length = spectrum.grid_detail(Image(wave.astype(np.float32)))
    # Coordinates span two units, so that a cycle over the picture is pi radians per unit.
    assert frequency == pytest.approx(np.pi * cycles, rel=1e-3)
    assert length == pytest.approx(64 / cycles, rel=1e-3)


def test_the_frequency_does_not_depend_on_brightness_contrast_or_depth():
    values = photo(64)
    frequency = spectrum.grid_detail(Image(values))[0]
    for other in (0.3 + 0.5 * values, (65535 * values).round().astype(np.uint16)):
        assert spectrum.grid_detail(Image(other))[0] == pytest.approx(frequency, rel=1e-3)
    eight = (255 * values).round().astype(np.uint8)
    assert spectrum.grid_detail(Image(eight))[0] == pytest.approx(frequency, rel=0.05)


def test_blur_lowers_and_size_raises_the_frequency():
    found = [first_frequency.grid_omega0(Image(blurred(photo(128), sigma)))[0] for sigma in (0.0, 1.0, 3.0, 10.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 1.4 * found[2]
    sizes = [first_frequency.grid_omega0(Image(photo(side)))[0] for side in (16, 64, 256)]
    assert sizes == sorted(sizes)
    assert sizes[2] > 3 * sizes[0]


def test_words_and_numbers_for_each_kind_of_picture():
    noise = RNG.uniform(0, 1, (64, 64)).astype(np.float32)
    omega0, why = first_frequency.grid_omega0(Image(noise))
    assert 30 < omega0 < 40
    assert why.startswith("detail as fine as noise, a mean wave of 2.")
    omega0, why = first_frequency.grid_omega0(Image(photo(256)))
    assert 85 < omega0 < 115
    assert "the detail of a sharp photo, a mean wave of" in why
    assert "a smooth picture, a mean wave of" in first_frequency.grid_omega0(Image(blurred(photo(256), 5)))[1]
    assert first_frequency.grid_omega0(Image(np.full((64, 64), 0.3, np.float32))) == (0.5, "it does not vary")


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 9), (4, 2000), (3000, 2)])
def test_every_shape_has_an_omega0_within_the_ends(shape):
    omega0, _ = first_frequency.grid_omega0(Image(RNG.integers(0, 255, shape, dtype=np.uint8)))
    assert first_frequency.OMEGA0_ENDS[0] <= omega0 <= first_frequency.OMEGA0_ENDS[1]


def test_large_pictures_are_sampled_and_quick():
    """Sixteen megapixels within the second that planning may take, and the answer of the whole."""
    pixels = np.kron(RNG.integers(0, 255, (1000, 1000), dtype=np.uint8), np.ones((4, 4), np.uint8))
    image = Image(np.repeat(pixels[..., None], 3, axis=2))
    started = time.process_time()
    frequency, wave = spectrum.grid_detail(image)
    assert time.process_time() - started < 3
    small = spectrum.grid_detail(Image(pixels[:1024, :1024]))
    assert wave == pytest.approx(small[1], rel=0.05)
    assert frequency == pytest.approx(small[0] * 4000 / 1024, rel=0.05)


@pytest.mark.parametrize(("voxels", "highest"), [(8, 17.0), (256, 64.0), (1024, 130.0)])
def test_the_first_sines_of_shapes_are_spread_by_their_resolution(voxels, highest):
    shape = SimpleNamespace(in_features=3, out_features=1, shape=(voxels, 4, 4), plan_rules=lambda: RULES)
    for model in ("staf", "siren"):
        chosen = plan(shape, device="cuda", model=model)
        field = chosen.field(0)
        sines = field.architecture["arguments"]["omega0"] * field.layers[0].weight.norm(dim=1)
        assert (sines.min().item(), sines.max().item()) == pytest.approx((6.0, highest), rel=1e-4)
        assert f"first sines of 6 to {highest:g} radians" in chosen.reasons["first_frequency"]
    assert "first sines" not in plan(shape, device="cuda", model="finer").reasons["first_frequency"], "by its biases"


def test_audio_is_heard_in_hertz_whatever_its_length():
    for seconds in (0.05, 1.0, 20.0):
        samples = np.arange(round(8000 * seconds))
        tone = Audio(np.sin(2 * np.pi * 1000 * samples / 8000), 8000)
        assert spectrum.audio_detail(tone) == pytest.approx(1000, rel=0.15)
    assert spectrum.audio_detail(Audio(RNG.uniform(-1, 1, 20000), 8000)) == pytest.approx(2000, rel=0.03)


def test_first_sines_follow_the_pitch_within_limits():
    def sines(hertz: float, seconds: float) -> float:
        samples = np.arange(round(8000 * seconds))
        return first_frequency.first_hertz(Audio(np.sin(2 * np.pi * hertz * samples / 8000), 8000), seconds)[0]

    assert 5 * sines(200, 0.5) < sines(900, 0.5)
    assert sines(3000, 0.5) == 2000, "a quarter of the rate"
    assert sines(1500, 4.0) == pytest.approx(256 * first_frequency.CYCLES / 4)
    assert sines(5, 1.0) == first_frequency.LOWEST_HERTZ


def grid(values: np.ndarray) -> SimpleNamespace:
    """An array as a signal of one channel."""
    shape = values.shape
    ends = (float(values.min()), float(values.max()))
    return SimpleNamespace(
        in_features=len(shape), out_features=1, shape=shape, array=values[..., None], value_range=ends
    )


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_a_wave_along_one_axis_has_its_frequency_in_any_dimension(axes):
    wave = np.cos(2 * np.pi * 3 * (np.arange(16) + 0.5) / 16)
    values = np.broadcast_to(wave.reshape(16, *[1] * (axes - 1)), (16, *[4] * (axes - 1))).astype(np.float32)
    frequency, length = spectrum.grid_detail(grid(values))
    assert frequency == pytest.approx(np.pi * 3, rel=1e-3)
    assert length == pytest.approx(16 / 3, rel=1e-3)


@pytest.mark.parametrize("shape", [(400,), (20, 20), (12, 10, 8), (6, 5, 6, 4)])
def test_arrays_of_any_dimension_get_omega0_by_their_spectrum(shape):
    fine = RNG.standard_normal(shape).astype(np.float32)
    coarse = np.add.outer(np.arange(shape[0]) / shape[0], np.zeros(shape[1:])).astype(np.float32)
    noise, ramp = (first_frequency.grid_omega0(grid(values)) for values in (fine, coarse))
    assert noise[0] >= ramp[0]
    chosen = plan(grid(coarse))
    assert chosen.field(0).architecture["arguments"]["omega0"] == ramp[0]
    unit = "pixels" if len(shape) == 2 else "samples"
    assert chosen.reasons["first_frequency"].endswith(unit)
    constant = first_frequency.grid_omega0(grid(np.ones(shape, np.float32)))
    assert constant == (first_frequency.OMEGA0_ENDS[0], "it does not vary")


def test_large_volumes_are_sampled_and_quick():
    values = RNG.standard_normal((300, 60, 200)).astype(np.float32)
    started = time.process_time()
    _, wave = spectrum.grid_detail(grid(values))
    assert time.process_time() - started < 3
    assert wave == pytest.approx(spectrum.grid_detail(grid(values[:100, :, :100]))[1], rel=0.03)


def test_bands_follow_the_samples_of_arrays_and_not_those_of_pictures():
    chosen = plan(grid(RNG.standard_normal((64, 9, 9)).astype(np.float32)), model="pemlp")
    assert chosen.field(0).architecture["arguments"]["bands"] == 4
    assert chosen.reasons["first_frequency"] == "bands 4 for 64 samples along the longest axis"
    flat = plan(grid(RNG.standard_normal((64, 64)).astype(np.float32)), model="pemlp")
    assert flat.field(0).architecture["arguments"]["bands"] == 7
