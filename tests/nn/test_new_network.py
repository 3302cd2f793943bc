"""A new network is one file: a toy, registered from outside, reaches plans, fits, files and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import staf
from staf.cli.main import main
from staf.nn import NETWORKS
from staf.nn.networks import network_named, register
from staf.planning import Budget, plan, plans
from tests.nn.toy_network import SPEC

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    register(SPEC)
    yield
    NETWORKS.pop("toy")


@pytest.fixture
def picture() -> staf.Image:
    rng = np.random.default_rng(0)
    return staf.Image(np.kron(rng.integers(0, 256, (4, 4, 3)), np.ones((4, 4, 1))).astype(np.uint8))


def test_it_is_planned_by_its_own_constants_with_reasons(picture: staf.Image) -> None:
    chosen, of_siren = (plan(picture, Budget(steps=5), model=model) for model in ("toy", "siren"))
    assert chosen.reasons["network"] == "model toy: 2 coordinates to 3 values, 4 activated layers of 64"
    assert chosen.reasons["rate"] == "learning rates of 0.002, those found for toy"
    assert chosen.recipe.rate == 2e-3
    first = [p.field(0).architecture["arguments"]["omega0"] for p in (chosen, of_siren)]
    assert first[0] == pytest.approx(first[1] / 2, abs=0.06)
    assert f"omega0 {first[0]:g} in the first layer, from the spectrum" in chosen.reasons["first_frequency"]


def test_it_is_trained_saved_and_loaded_by_its_name(picture: staf.Image, tmp_path: Path) -> None:
    fit = staf.fit(picture, plan=plan(picture, Budget(steps=120), model="toy"), progress=False)
    assert fit.metrics["psnr"] > 18
    fit.save(tmp_path / "toy.safetensors")
    loaded = staf.load(tmp_path / "toy.safetensors")
    at = torch.rand(9, 2) * 2 - 1
    torch.testing.assert_close(loaded(at), fit.field(at))
    assert "toy" in repr(loaded)


def test_it_is_a_name_of_the_package_and_has_its_presets(picture: staf.Image) -> None:
    assert staf.toy is staf.nn.toy is SPEC.factory
    assert plans.paper_toy_image(picture).field(0).architecture["arguments"]["omega0"] == 7
    assert "paper_toy_image" in dir(plans)
    with pytest.raises(ValueError, match=r"preset of toy, paper_image; got 'paper_audio'"):
        plans.preset(picture, "paper_audio", model="toy")


def test_restorations_and_other_kinds_have_a_plan_for_it(picture: staf.Image) -> None:
    from staf.tasks import Denoising, SuperResolution

    noisy = Denoising(picture, generator=torch.Generator().manual_seed(0))
    tone = staf.Audio(np.sin(np.arange(800) * 0.1), 8000)
    for source in (noisy, SuperResolution(picture, 2), tone, staf.Shape.sphere(resolution=8)):
        chosen = plan(source, Budget(steps=1), model="toy")
        values = chosen.field(0)(torch.zeros(3, source.in_features))
        assert values.shape == (3, source.out_features)


def test_the_command_line_fits_it(picture: staf.Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    picture.save("p.png")
    assert main(["fit", "p.png", "--model", "toy", "--steps", "2", "--out", "run", "--no-progress"]) == 0
    assert staf.load("run/model.safetensors").module.architecture["name"] == "toy"


def test_the_command_line_lists_it_among_the_choices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    staf.Image(np.zeros((4, 4), np.uint8)).save(picture)
    assert main(["fit", str(picture), "--model", "toi", "--out", str(tmp_path / "run")]) == 2
    assert "did you mean 'toy'?" in capsys.readouterr().err
    code = (
        "from staf.nn.networks import register; from tests.nn.toy_network import SPEC; register(SPEC); "
        "from staf.cli.main import main; main(['fit', '--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "COLUMNS": "200"},
    )
    assert "relu, toy" in " ".join(done.stdout.split()), done.stderr


def test_a_name_belongs_to_one_network() -> None:
    import dataclasses

    with pytest.raises(ValueError, match="there is a network 'toy' already"):
        register(dataclasses.replace(SPEC, formula="another"))
    with pytest.raises(ValueError, match="factory must be a function called 'other'"):
        register(dataclasses.replace(SPEC, name="other"))
    with pytest.raises(ValueError, match="did you mean 'toy'"):
        network_named("toyy")
