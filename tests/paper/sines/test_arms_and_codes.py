"""The arms differ in what they say they differ in, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paper.sines.arms import ARMS, count, network
from paper.sines.codes import KINDS, CodeSpec, encoded_psnr, meta_learn, meta_loss, picture_loss, spec_of, start
from paper.sines.fits import fit_arm, recipe
from paper.sines.quantised import psnr_of, quantise, quantised, refined, stored_bytes
from paper.sines.signals import Problem, pictures, pieces_of, recordings
from staf.kinds import Audio, Image
from staf.nn import siren
from staf.tasks import Reconstruction

POINTS = torch.rand(12, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
PICTURES = torch.rand(6, 12, 3, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", list(ARMS))
def test_counts_are_those_of_the_networks(name):
    field = network(ARMS[name], 2, 3, 20, 0, omega0=20.0, hidden_omega0=30.0)
    assert sum(p.numel() for p in field.parameters()) == count(ARMS[name], 2, 3, 20)
    assert field.architecture["arguments"]["omega0"] == 20.0


def test_the_wider_sine_has_the_parameters_of_the_trained_ones():
    for width in (32, 64, 256):
        wanted, found = (count(ARMS[name], 2, 3, width) for name in ("5 sines a neuron", "frozen sine, wider"))
        assert found == pytest.approx(wanted, rel=0.03)


def test_every_arm_has_the_same_recipe_but_its_rate():
    problem = Problem([Reconstruction(Image(np.zeros((4, 4, 3), np.uint8)))], ["black"])
    one, two = (recipe(problem, 10, rate, "soap") for rate in (1e-3, 2e-3))
    assert one.replace(rate=2e-3, matrix_rate=2e-3) == two
    assert recipe(problem, 10, 1e-3, "adam").optimiser == "adam"


def test_the_search_does_not_count_and_takes_the_best_rate():
    rng = np.random.default_rng(0)
    problem = pictures([Image(rng.integers(0, 256, (6, 6, 3), np.uint8), name=n) for n in "ab"], 6)
    found = fit_arm(problem, ARMS["5 sines a layer"], width=6, steps=3, seeds=[0, 1], device="cpu", rates=(1e-9, 2e-2))
    assert list(found.values) == ["b"]
    assert f"{found.rate:g}" == max(found.search, key=found.search.get)
    assert len(found.networks) == len(found.values["b"]) == 2
    assert found.values["b"][0] != found.values["b"][1], "seeds differ"


def test_only_an_arm_that_is_timed_as_another_gets_more_steps():
    problem = pictures([Image(np.zeros((4, 4, 3), np.uint8), name="a")], 4)
    steps = {
        name: fit_arm(problem, ARMS[name], width=6, steps=10, seeds=[0], device="cpu", rates=(1e-3,), slower=1.3).steps
        for name in ("frozen sine", "frozen sine, longer")
    }
    assert steps == {"frozen sine": 10, "frozen sine, longer": 13}
    measured = fit_arm(problem, ARMS["frozen sine, longer"], width=6, steps=8, seeds=[0], device="cpu", rates=(1e-3,))
    assert measured.steps >= 8


def test_pieces_of_a_recording_start_with_their_own_pitch():
    time = np.arange(4000) / 8000
    sweep = np.sin(2 * np.pi * np.where(time < 0.25, 100, 900) * time)
    problem = recordings(Audio(sweep.astype(np.float32), 8000), 0.1, 3)
    fields = [problem.fresh(ARMS["frozen sine"], place, 8, 0) for place in (0, 2)]
    slow, fast = (float(field.layers[0].weight.detach().abs().max()) for field in fields)
    assert fast > 3 * slow


def test_pieces_of_a_short_recording_have_names_of_their_own():
    for rate in (100, 8000):
        short = Audio(np.random.default_rng(0).random(400).astype(np.float32), rate)
        assert len({piece.name for piece in pieces_of(short, 0.02, 4)}) == 4


def test_rounding_keeps_what_fits_and_bytes_count_all():
    weight = torch.linspace(-1, 1, 15)
    assert torch.allclose(quantise(weight, 4), weight, atol=1e-6)
    field = siren(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    task = Reconstruction(Image(np.full((4, 4, 3), 100, np.uint8)))
    rough = quantised(field, 4)
    assert not torch.equal(rough.layers[1].weight, field.layers[1].weight)
    kept = [layer.weight.clone() for layer in rough.layers]
    before = psnr_of([rough], [task], "cpu")
    better = refined(rough, task, 20, "cpu", rate=1e-2)
    assert psnr_of([better], [task], "cpu") > before
    assert all(torch.equal(a, layer.weight) for a, layer in zip(kept, better.layers, strict=True))
    assert stored_bytes(field, 8) - stored_bytes(field, 4) == (2 * 8 + 8 * 8 + 8 * 3) // 2


@pytest.mark.parametrize("kind", KINDS)
def test_codes_of_a_kind_learn_and_have_their_size(kind):
    spec = spec_of(kind, 12, 10)
    assert spec.shared == pytest.approx(CodeSpec("shifts", 12, 10).shared, rel=0.2)
    drawn = start(spec, 0)
    assert sum(t.numel() for n, t in drawn.items() if n not in ("step", "sines")) == spec.shared
    zero, one = torch.zeros(12), torch.zeros(12)
    one[3] = 1.0
    losses = [float(picture_loss(spec, drawn, code, POINTS, PICTURES[0])) for code in (zero, one)]
    assert losses[0] != losses[1]
    shared = meta_learn(spec, PICTURES, POINTS, steps=15, rate=3e-3, batch=6, seeds=(0, 1), pixels=10)
    before = float(meta_loss(spec, start(spec, 0), POINTS, PICTURES, first_order=True))
    assert float(meta_loss(spec, {n: t[0] for n, t in shared.items()}, POINTS, PICTURES, first_order=True)) < before
    first, after = encoded_psnr(spec, shared, PICTURES[:2], POINTS, steps=5, rate=1e-2)
    assert first.shape == (2, 2)
    assert bool((after >= first).all())
