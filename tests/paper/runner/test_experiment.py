from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import numpy as np
import pytest

from paper.runner import Context, Data, Outcome, run_experiment
from paper.runner.experiment import outcome_of


@dataclass(frozen=True)
class TinyRun:
    steps: int
    seed: int = 0


@dataclass(frozen=True)
class TinyFit:
    """A small real fit that is struck by a signal at a step, once."""

    marker: str
    strike_at: int | None = None

    name, version, protocol = "tiny-fit", 1, "a small fit"

    def label(self, configuration: TinyRun) -> str:
        return "tiny"

    def data(self, configuration: TinyRun) -> Data:
        return Data("ramp", "0")

    def run(self, configuration: TinyRun, context: Context) -> Outcome:
        import torch

        import staf

        def strike(state: object) -> None:
            if state.step == self.strike_at and not os.path.exists(self.marker):
                open(self.marker, "w").close()
                os.kill(os.getpid(), signal.SIGINT)

        image = staf.open(np.random.default_rng(0).random((6, 5), dtype=np.float32))
        field = staf.siren(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(configuration.seed))
        recipe = staf.recipes.default(steps=configuration.steps, batch=10)
        fit = context.fit(image, field=field, recipe=recipe, seed=configuration.seed, callbacks=[strike])
        return outcome_of(fit, arrays={"weights": fit.module.state_dict()["layers.0.weight"].numpy()})


def sweep(experiment, folder):
    return run_experiment(experiment, [TinyRun(steps=30)], folder, workers=1, device="cpu", progress=False)


def first_array(result):
    return next(iter(result.arrays().values()))


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    whole = sweep(TinyFit(str(tmp_path / "never")), tmp_path / "whole").results[0]
    struck = TinyFit(str(tmp_path / "struck"), strike_at=12)
    with pytest.raises(KeyboardInterrupt):
        sweep(struck, tmp_path / "parts")
    (checkpoint,) = (tmp_path / "parts").iterdir()
    assert checkpoint.name.endswith(".checkpoint.safetensors")
    parts = sweep(struck, tmp_path / "parts").results[0]
    assert not checkpoint.exists()
    assert parts.metrics == whole.metrics
    assert np.array_equal(first_array(parts), first_array(whole))
    assert parts.history["loss"] == whole.history["loss"]


def test_a_useless_checkpoint_is_thrown_away(tmp_path):
    struck = TinyFit(str(tmp_path / "struck"), strike_at=12)
    with pytest.raises(KeyboardInterrupt):
        sweep(struck, tmp_path / "parts")
    (checkpoint,) = (tmp_path / "parts").iterdir()
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    (result,) = sweep(struck, tmp_path / "parts").results
    assert result.details["steps"] == 30


def test_an_outcome_says_how_the_fit_went(tmp_path):
    (result,) = sweep(TinyFit(str(tmp_path / "never")), tmp_path).results
    assert result.details["steps"] == 30
    assert result.details["parameters"] == 8 * 2 + 8 + 8 * 8 + 8 + 8 + 1
    assert result.details["recipe"]["optimiser"] == "muon"
    assert result.history["step"] == list(range(30))
    assert result.metrics["psnr"] > 5
