from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Audio, from_metadata
from staf.signals import SignalError


def tone(n: int = 800, rate: int = 8000, channels: int = 1, frequency: float = 200.0) -> np.ndarray:
    time = (np.arange(n) + 0.5) / rate
    return np.stack([0.5 * np.sin(2 * np.pi * frequency * (k + 1) * time) for k in range(channels)], 1).astype("f4")


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros((0, 2), np.float32), "length is zero"),
        (np.array([0.0, np.nan]), "must be numbers, got 1 NaN"),
        (np.array([0.0, -1e300]), r"must fit in float32, got 1e\+300"),
        (np.ones((2, 3, 4)), r"must have shape \(n,\) or \(n, channels\)"),
        (np.ones(4, np.uint8), "signed integers or floats"),
        (np.ones((2, 65)), "1 to 64 channels"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(samples, message):
    with pytest.raises(SignalError, match=message):
        Audio(samples, 8000)


@pytest.mark.parametrize("rate", [0, -1, 44100.5, True, "44100"])
def test_rate(rate):
    with pytest.raises(SignalError, match="rate must be a whole number"):
        Audio(np.ones(4), rate)


def test_silence_is_accepted_and_said():
    audio = Audio(np.zeros(100), 8000)
    assert audio.notes == ["the audio is silent: every sample is zero"]
    assert audio.values().abs().max() == 0
    assert audio.value_range == (-1, 1)


def test_clipped_audio_is_accepted():
    assert Audio(np.clip(3 * tone(), -1, 1), 8000).peak == 1.0


def test_values_come_back():
    audio = Audio(tone(channels=2), 8000)
    again = audio.from_values(audio.values())
    assert np.array_equal(again.array, audio.array)
    with pytest.raises(SignalError, match="values must have shape"):
        audio.from_values(torch.zeros(3, 2))


def test_metadata_rebuilds_an_audio_that_renders():
    audio = Audio(tone(channels=2), 8000, name="two", subtype="PCM_24", notes=["said"])
    empty = from_metadata(json.loads(json.dumps(audio.metadata())))
    assert empty.metadata() == audio.metadata()
    with pytest.raises(SignalError, match="holds no samples"):
        _ = empty.array
    drawn = empty.render(lambda x: torch.cat([x, -x], 1) / 4)
    assert (drawn.samples, drawn.rate, drawn.out_features) == (800, 8000, 2)
    broken = {**audio.metadata(), "peak": 0}
    with pytest.raises(SignalError, match="describes no audio"):
        from_metadata(broken)
    with pytest.raises(SignalError, match="incomplete"):
        from_metadata({"kind": "audio"})


@pytest.mark.parametrize("convention", ["centres", "ends"])
@pytest.mark.parametrize("rate", [4000, 8000, 11025, 44100])
def test_a_field_rendered_at_another_rate_is_the_same_function_of_time(rate, convention):
    audio = Audio(tone(), 8000)
    (half,) = audio.coordinate_units(convention)
    start = 0.0 if convention == "centres" else 0.5 / 8000

    def field(x: torch.Tensor) -> torch.Tensor:
        return 0.5 * torch.sin(2 * torch.pi * 200 * ((x.double() + 1) * half + start))

    drawn = audio.render(field, rate=rate, convention=convention)
    assert abs(drawn.samples - 800 * rate / 8000) <= (0.5 if convention == "centres" else rate / 8000)
    first = 0.5 / rate if convention == "centres" else 0.5 / 8000
    expected = np.clip(0.5 * np.sin(2 * np.pi * 200 * (np.arange(drawn.samples) / rate + first)), *audio.value_range)
    np.testing.assert_allclose(drawn.array[:, 0], expected, atol=1e-5)
    if rate == 8000:
        np.testing.assert_allclose(drawn.array, audio.array, atol=1e-5)


def test_a_part_is_rendered():
    audio = Audio(tone(), 8000)
    whole = audio.render(lambda x: x / 3)
    part = audio.render(lambda x: x / 3, start=0.02, stop=0.05)
    np.testing.assert_allclose(part.array, whole.array[160:400], atol=1e-7)
    with pytest.raises(SignalError, match="start and stop"):
        audio.render(lambda x: x, start=0.05, stop=0.02)


def test_rendering_never_leaves_the_peak():
    audio = Audio(tone(), 8000)
    assert np.abs(audio.render(lambda x: 100 * x).array).max() == np.float32(audio.peak)


def test_predict_of_a_wrong_shape_is_refused():
    with pytest.raises(SignalError, match="predict must return"):
        Audio(tone(), 8000).render(lambda x: x.repeat(1, 2))


def test_a_window_keeps_the_peak_and_may_be_silent():
    audio = Audio(np.concatenate([np.zeros((50, 1), "f4"), tone()]), 8000)
    quiet = audio.window(0, 50)
    assert quiet.peak == audio.peak
    with pytest.raises(SignalError, match="a window must lie"):
        audio.window(10, 10)


def test_a_fit_renders_saves_and_loads(tmp_path):
    audio = Audio(tone(256, channels=2), 8000, name="tone")
    field = staf.siren(1, 2, width=32, depth=2, omega0=60.0, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(audio, field, steps=200, progress=False)
    assert fit.metrics["psnr"] > 30
    fit.save(tmp_path / "tone.safetensors")
    loaded = staf.load(tmp_path / "tone.safetensors")
    same = loaded.render()
    assert np.array_equal(same.array, fit.reconstruction.array)
    error = (same.array - audio.array).astype(np.float64) / audio.peak
    assert abs(-10 * np.log10((error**2).mean()) - fit.metrics["psnr"]) < 0.01
    assert loaded.render(rate=16000).samples == 512
