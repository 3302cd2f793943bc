from __future__ import annotations

import math
import os
import signal
import time

import pytest
import torch

import staf
from staf.operators import PhotonNoise
from staf.storage import FileError
from staf.tasks import Denoising, KeepBestHeldOut, Oracle
from staf.training import Interrupted
from tests.tasks.pictures import scene


def noisy(held_out: float = 0.2, seed: int = 0) -> Denoising:
    generator = torch.Generator().manual_seed(seed)
    truth = scene(height=12, width=16)
    return Denoising.simulated(truth, PhotonNoise(10, 2), generator=generator, held_out=held_out)


def network(seed: int = 0, model=staf.siren):
    return model(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(seed))


def watched(task: Denoising) -> list:
    return [KeepBestHeldOut(task, every=3), Oracle(task, every=4)]


def strike_at(step: int):
    def strike(state):
        if state.step == step:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    return strike


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("step", [1, 17, 30])
@pytest.mark.parametrize("model", [staf.siren, staf.wire])
def test_what_was_seen_survives_an_interruption(tmp_path, step, model):
    path, task = tmp_path / "c.safetensors", noisy()
    with pytest.raises(Interrupted):
        staf.fit(task, network(model=model), steps=30, progress=False, checkpoint=path,
                 callbacks=[*watched(task), strike_at(step)])  # fmt: skip
    again = noisy()
    after = watched(again)
    resumed = staf.fit(again, network(1, model), progress=False, callbacks=after, resume=path)
    whole = noisy()
    before = watched(whole)
    straight = staf.fit(whole, network(model=model), steps=30, progress=False, callbacks=before)
    for a, b in zip(after, before, strict=True):
        assert same(a.tensors(), b.tensors())
    assert (after[0].best, after[0].best_step) == (before[0].best, before[0].best_step)
    assert (after[1].psnr, after[1].step) == (before[1].psnr, before[1].step)
    assert same(resumed.module.state_dict(), straight.module.state_dict())
    assert resumed.metrics == straight.metrics
    assert resumed.notes == straight.notes


@pytest.mark.parametrize("other", [noisy(0.3), noisy(seed=1), Denoising(noisy().observed, generator=torch.Generator())])
def test_other_held_out_pixels_are_refused(tmp_path, other):
    path, task = tmp_path / "c.safetensors", noisy()
    with pytest.raises(Interrupted):
        staf.fit(task, network(), steps=9, progress=False, checkpoint=path, callbacks=[strike_at(2)])
    with pytest.raises(FileError, match="other data"):
        staf.fit(other, network(), progress=False, resume=path)
    assert staf.fit(noisy(), network(), progress=False, resume=path).result.steps == 9


def test_the_first_of_equal_errors_is_the_best_and_nan_never_is():
    task = noisy()
    keep, oracle = watched(task)
    rows = torch.tensor([[3, math.nan], [6, 0.5], [9, 0.25], [12, 0.25]], dtype=torch.float64)
    keep.load_tensors({"errors": rows, "weights/a": torch.ones(1)})
    assert (keep.best, keep.best_step) == (0.25, 9)
    oracle.load_tensors({"seen": rows})
    assert (oracle.psnr, oracle.step) == (0.5, 6)
    keep.load_tensors({"errors": rows[:1]})
    oracle.load_tensors({"seen": rows[:1]})
    assert (keep.best, keep.best_step, oracle.psnr, oracle.step) == (math.inf, 0, -math.inf, 0)


def test_tensors_of_another_kind_are_named():
    keep, oracle = watched(noisy())
    with pytest.raises(ValueError, match=r"shape \(n, 2\), got \(3,\)"):
        oracle.load_tensors({"seen": torch.ones(3)})
    with pytest.raises(ValueError, match="weights are kept of 3 step, and there are 0 tensors"):
        keep.load_tensors({"errors": torch.tensor([[3, 0.5]])})
    with pytest.raises(KeyError):
        keep.load_tensors(oracle.tensors())
