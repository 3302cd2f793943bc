from __future__ import annotations

import dataclasses
import shlex
import signal
from pathlib import Path

import numpy as np
import pytest

from staf.api import load
from staf.cli.main import program
from staf.cli.resuming import CHECKPOINT
from staf.kinds import Image
from staf.planning import restoration
from staf.training.optim.optimiser import Optimiser

STEPS = 14
VERBS = {
    "upscale": ("upscale", "--scale", "2"),
    "upscale --evaluate": ("upscale", "--factor", "2", "--evaluate"),
    # So noisy that an early step is kept, which only the checkpoint knows of.
    "denoise --photons": ("denoise", "--photons", "0.3", "--held-out", "0.2"),
}


@pytest.fixture
def strike(monkeypatch):
    """A signal in the middle of a step, counted from 1."""

    def at(step, number=signal.SIGINT):
        taken, original = [], Optimiser.step

        def struck(self):
            taken.append(None)
            if len(taken) == step:
                signal.raise_signal(number)
            original(self)

        monkeypatch.setattr(Optimiser, "step", struck)

    return at


def words_of(command: str) -> list[str]:
    """What follows the program's name in a command that was printed."""
    return shlex.split(command.removeprefix(program()))


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder that hold no times."""
    timed = ("metrics.json", "model.safetensors", "report.html")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in timed}


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_an_interrupted_run_goes_on_to_the_same_result(staf, picture, here, strike, words):
    words = [words[0], str(picture), *words[1:], "--steps", STEPS, "--seed", 3]
    strike(STEPS - 2)
    ran = staf(*words, "--out", "a run", "--overwrite")
    folder = here / "a run"
    assert ran.code == 130
    assert {CHECKPOINT, "model.safetensors", "metrics.json"} <= {path.name for path in folder.iterdir()}
    said, command = ran.err.splitlines()[-2:]
    assert said.startswith(f"staf: stopped after step {STEPS - 2}; a run holds the result so far; the training so far")
    assert command == f"{program()} {shlex.join([*map(str, words), '--out', 'a run', '--resume'])}"

    after = staf(*words_of(command), "--json").json
    before = staf(*words, "--out", "straight", "--json").json
    timed = ("seconds", "out", "files")
    assert {k: v for k, v in after.items() if k not in timed} == {k: v for k, v in before.items() if k not in timed}
    assert after["steps"] == STEPS
    assert contents(folder) == contents(here / "straight")
    weights = [load(path / "model.safetensors").module.state_dict() for path in (folder, here / "straight")]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[1])


def test_a_run_without_steps_goes_on_with_its_own_budget(staf, picture, here, strike):
    strike(2)
    assert staf("denoise", picture, "--target-db", 9).code == 130
    document = staf("denoise", picture, "--resume", "--json").json
    assert document["steps"] > 2
    assert document["metrics"]["psnr"] >= 9
    assert not (here / "runs" / "picture-denoise" / CHECKPOINT).exists()


def test_sigterm_leaves_a_checkpoint_too_and_overwrite_begins_anew(staf, picture, here, strike):
    strike(2, signal.SIGTERM)
    ran = staf("upscale", picture, "--steps", 9, "--out", "o")
    assert ran.code == 143
    assert "--resume" in ran.err
    assert "--resume continues it, another --out" in staf("upscale", picture, "--out", "o").refused()
    assert staf("upscale", picture, "--steps", 3, "--out", "o", "--overwrite", "--json").json["steps"] == 3
    assert not (here / "o" / CHECKPOINT).exists()


def test_another_picture_or_other_options_are_refused(staf, picture, here, strike):
    other = Image(np.asarray(np.arange(16 * 16 * 3).reshape(16, 16, 3) % 251, np.uint8)).save("other.png")
    words = ["denoise", picture, "--steps", 9, "--photons", 20, "--out", "o"]
    strike(4)
    assert staf(*words).code == 130
    before = (here / "o" / CHECKPOINT).read_bytes()
    wrong = (
        "is of another picture, or of other options: give the same file, and --held-out, --photons, --readout, --paper"
    )
    assert wrong in staf("denoise", other, *words[2:], "--resume").refused()
    assert wrong in staf(*words, "--resume", "--held-out", 0.1).refused()
    assert wrong in staf(*words, "--resume", "--readout", 1).refused()
    assert wrong in staf(*words, "--resume", "--paper").refused()
    assert wrong in staf("denoise", picture, "--steps", 9, "--out", "o", "--resume").refused()
    assert wrong.partition(":")[0] in staf("upscale", picture, "--steps", 9, "--out", "o", "--resume").refused()
    assert "was started with 9: leave --steps out" in staf(*words, "--resume", "--steps", 10).refused()
    assert "was started with 0: leave --seed out" in staf(*words, "--resume", "--seed", 1).refused()
    assert "pass --model staf" in staf(*words, "--resume", "--model", "siren").refused()
    assert (here / "o" / CHECKPOINT).read_bytes() == before
    assert staf(*words, "--resume", "--json").json["steps"] == 9


def test_another_network_of_the_same_picture_is_refused(staf, picture, strike, monkeypatch):
    strike(1)
    assert staf("upscale", picture, "--steps", 9, "--out", "o").code == 130
    ours = restoration.super_resolution

    def other(*arguments, **options):
        return dataclasses.replace(ours(*arguments, **options), field_factory=lambda generator: staf(2, 3))

    monkeypatch.setattr(restoration, "super_resolution", other)
    message = staf("upscale", picture, "--out", "o", "--resume").refused()
    assert "is of another network: give the same file, and --scale, --samples, --evaluate, --paper and" in message


def test_there_is_nothing_to_go_on_with(staf, picture, here):
    assert "there is no interrupted fit in runs/picture-denoise" in staf("denoise", picture, "--resume").refused()
    assert "give one of them" in staf("upscale", picture, "--resume", "--overwrite").refused()
    assert not (here / "runs").exists()


@pytest.mark.parametrize("goes_on", [False, True])
def test_ctrl_c_after_the_fit_leaves_the_model_and_the_picture(staf, picture, here, strike, monkeypatch, goes_on):
    words = ["denoise", picture, "--steps", 9, "--photons", 20, "--out", "o"]
    if goes_on:
        strike(4)
        assert staf(*words).code == 130
        words.append("--resume")

    def stopped(task, values):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("staf.tasks.classical.measured", stopped)
        ran = staf(*words)
    assert (ran.code, ran.out) == (130, "")
    assert "stopped while the folder was written; o holds what was ready" in ran.err
    assert {"model.safetensors", "denoised.png"} <= {path.name for path in (here / "o").iterdir()}
    # Only a fit of over a minute, or one that was interrupted before, has a checkpoint to make the rest from.
    assert ran.err.splitlines()[-1].endswith("--out o --resume" if goes_on else "--out o-2")
    assert ("this makes the rest" in ran.err) == goes_on
    assert staf(*words_of(ran.err.splitlines()[-1])).code == 0
    folder = here / ("o" if goes_on else "o-2")
    assert {"comparison.png", "metrics.json"} <= {path.name for path in folder.iterdir()}
    assert not (folder / CHECKPOINT).exists()
