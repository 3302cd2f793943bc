from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Audio
from staf.kinds.audio.plan import audio_window
from staf.nn import NETWORKS
from staf.planning import Budget, plan
from staf.planning.first_frequency import first_hertz
from staf.tasks import Reconstruction


def recording(seconds: float, channels: int = 1, rate: int = 800) -> Audio:
    wave = np.random.default_rng(0).uniform(-1, 1, (round(seconds * rate), channels))
    return Audio(wave.astype(np.float32), rate)


@pytest.mark.parametrize("model", sorted(NETWORKS))
@pytest.mark.parametrize("channels", [1, 2])
def test_every_network_can_be_planned_for_audio(model, channels):
    chosen = plan(recording(2.0, channels), Budget(steps=1), model=model)
    field = chosen.field(0)
    if not hasattr(field, "bind"):
        assert field(torch.zeros(3, 1)).shape == (3, channels)


def fastest_hertz(field: torch.nn.Module, seconds: float) -> float:
    """The fastest sine of the first layer, counted by its zeros over the recording."""
    omega0 = field.architecture["arguments"]["omega0"]
    fastest = field.layers[0].weight.abs().max().item() * omega0
    time = torch.linspace(0, seconds, 200_000, dtype=torch.float64)
    wave = torch.sin(fastest * (2 * time / seconds - 1))
    return (wave[1:].sign() != wave[:-1].sign()).sum().item() / 2 / seconds


@pytest.mark.parametrize("model", ["siren", "staf"])
@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_the_first_layer_starts_at_the_pitch_of_the_spectrum_whatever_the_length(seconds, model):
    audio = recording(seconds)
    hertz, _ = first_hertz(audio, seconds)
    assert hertz == pytest.approx(200 * 200 / 350, rel=0.1)
    chosen = plan(audio, model=model)
    assert 0.95 * hertz < fastest_hertz(chosen.field(0), seconds) <= hertz * 1.001
    assert f"the first layer starts with sines of up to {hertz:,.0f} Hz, from the spectrum: its mean" in " ".join(
        chosen.reasons.values()
    )
    # A task of the recording is planned as the recording is.
    assert plan(Reconstruction(audio), model=model).field(0).layers[0].weight.equal(chosen.field(0).layers[0].weight)


def test_windows_share_the_pitch_of_the_whole_recording():
    tone = np.sin(np.arange(4000) * 0.2)
    audio = Audio(np.concatenate([np.zeros(4000), tone]), 8000)
    silent, sounding = audio.window(0, 4000), audio.window(4000, 8000)
    hertz, _ = first_hertz(audio, 0.5)
    assert hertz > 5 * first_hertz(silent, 0.5)[0]
    for part in (silent, sounding):
        assert fastest_hertz(audio_window(part, whole=audio).field(0), 0.5) == pytest.approx(hertz, rel=0.1)


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
    assert any("falls to silence" in reason for reason in chosen.reasons.values())
    sirens = [plan(signal, Budget(steps=1), device="cuda", model="siren").recipe.rate for signal in (audio, np_image())]
    assert sirens[0] == sirens[1]


def test_audio_seen_whole_for_long_is_trained_by_soap_windows_too():
    audio = recording(2.0)
    chosen = plan(audio, Budget(steps=300), device="cuda").recipe
    window = audio_window(audio, steps=300).recipe
    assert chosen.optimiser == window.optimiser == "soap"
    assert chosen.rate == chosen.matrix_rate == window.rate == pytest.approx(2e-3)
    assert plan(audio, Budget(steps=299), device="cuda").recipe.optimiser == "muon"
    assert audio_window(audio, steps=299).recipe.optimiser == "muon"
    assert plan(recording(20.0), Budget(steps=300), device="cpu").recipe.optimiser == "muon", "mini-batches"


def test_windows_say_how_they_are_trained():
    audio = recording(2.0)
    for steps, optimiser, rate in ((299, "Muon", "0.003"), (300, "SOAP", "0.002")):
        reasons = audio_window(audio, steps=steps).reasons.values()
        assert any(reason.startswith(optimiser) for reason in reasons)
        assert f"learning rates of {rate}" in reasons
        assert "every step sees all 1,600 points" in reasons


def test_the_reasons_say_what_keeps_the_first_sines_slow():
    assert "kept" not in first_hertz(recording(2.0), 2.0)[1]
    assert first_hertz(recording(40.0), 40.0)[1].endswith("Hz, kept to 2,816 cycles over 40 s")
    high = Audio(np.sin(2 * np.pi * 3000 * np.arange(4000) / 8000), 8000)
    assert first_hertz(high, 0.5)[1].endswith("Hz, kept to a quarter of the sample rate")


def test_narrow_layers_start_with_slower_sines():
    noise = recording(40.0)
    wide, narrow = (first_hertz(noise, 40.0, width=width)[0] for width in (256, 128))
    assert wide == pytest.approx(2 * narrow)


def test_finer_without_biases_is_no_faster_at_the_ends_than_the_others():
    audio = recording(2.0)
    chosen = plan(audio, model="finer")
    assert any("Hz and more by their biases, from the spectrum" in reason for reason in chosen.reasons.values())
    field = chosen.field(0)
    hertz, _ = first_hertz(audio, 2.0)
    weight = field.layers[0].weight.abs().max().item()
    omega0 = field.architecture["arguments"]["omega0"]
    assert omega0 * (2 * weight + 1) * weight == pytest.approx(torch.pi * hertz * 2.0, rel=0.05)


def np_image() -> staf.Image:
    return staf.Image(np.zeros((100, 100, 3), np.uint8))


def test_mini_batches_of_recordings_on_a_cpu_have_a_rate_of_their_own():
    audio = recording(11.0)
    own = NETWORKS["staf"].rates.audio_mini_batch
    many, few = (plan(audio, Budget(steps=steps), device="cpu") for steps in (150, 50))
    assert (many.recipe.batch, many.recipe.rate, many.recipe.matrix_rate) == (8192, own, own)
    assert "searched for staf on short recordings, on a CPU" in many.reasons["rate"]
    assert few.recipe.rate == NETWORKS["staf"].rates.full_batch / 2
    assert plan(audio, Budget(seconds=60), device="cpu").recipe.rate == own
    assert plan(recording(2.0), Budget(steps=150), device="cpu").recipe.rate != own
    # Without weights enough for each sample, the rate of any mini-batch.
    for crowded in (recording(50.0), recording(25.0, channels=2)):
        assert plan(crowded, Budget(steps=150), device="cpu").recipe.rate == few.recipe.rate
    assert plan(audio, Budget(steps=150), device="cpu", model="siren").recipe.rate == 5e-4
