from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.fitting import Budget, plan
from staf.fitting.audio_plans import FIRST_HZ, audio_window
from staf.nn.models import MODELS
from staf.signals import Audio


def recording(seconds: float, channels: int = 1, rate: int = 800) -> Audio:
    wave = np.random.default_rng(0).uniform(-1, 1, (round(seconds * rate), channels))
    return Audio(wave.astype(np.float32), rate)


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("channels", [1, 2])
def test_every_network_can_be_planned_for_audio(model, channels):
    chosen = plan(recording(2.0, channels), Budget(steps=1), model=model)
    field = chosen.field(0)
    if not hasattr(field, "bind"):
        assert field(torch.zeros(3, 1)).shape == (3, channels)


@pytest.mark.parametrize("model", ["siren", "staf"])
@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_the_first_layer_starts_at_the_same_pitch_whatever_the_length(seconds, model):
    """The fastest sine of the first layer, counted by its zeros over the recording, is FIRST_HZ."""
    field = plan(recording(seconds), model=model).field(0)
    omega0 = field.architecture["arguments"]["omega0"]
    fastest = field.layers[0].weight.abs().max().item() * omega0
    time = torch.linspace(0, seconds, 200_000, dtype=torch.float64)
    wave = torch.sin(fastest * (2 * time / seconds - 1))
    crossings = (wave[1:].sign() != wave[:-1].sign()).sum().item()
    assert FIRST_HZ * 0.95 < crossings / 2 / seconds <= FIRST_HZ


def test_a_saved_field_of_audio_opens_with_its_own_first_layer(tmp_path):
    audio = recording(0.2)
    fit = staf.fit(audio, steps=1, progress=False)
    fit.save(tmp_path / "f.safetensors")
    at = torch.linspace(-1, 1, 9)[:, None]
    torch.testing.assert_close(staf.load(tmp_path / "f.safetensors")(at), fit.field(at))


def test_a_windows_network_grows_with_the_window():
    counts = []
    for seconds in (10.0, 40.0):
        part = recording(seconds)
        counts.append(sum(p.numel() for p in audio_window(part).field(0).parameters()))
        assert 0.4 < counts[-1] / part.samples < 0.9
    assert counts[1] > 2 * counts[0]
    assert audio_window(recording(1.0), steps=7).recipe.steps == 7


def test_full_batches_of_audio_are_learnt_slower_by_staf_and_the_reasons_say_so():
    audio = recording(2.0)
    image_rate = plan(np_image(), Budget(steps=1), device="cuda").recipe.rate
    chosen = plan(audio, Budget(steps=1), device="cuda")
    assert chosen.recipe.rate == chosen.recipe.matrix_rate == image_rate / 2
    assert any("falls to silence" in reason for reason in chosen.reasons)
    sirens = [plan(signal, Budget(steps=1), device="cuda", model="siren").recipe.rate for signal in (audio, np_image())]
    assert sirens[0] == sirens[1]


def np_image() -> staf.Image:
    return staf.Image(np.zeros((8, 8, 3), np.uint8))
