from __future__ import annotations

import os
import signal
import time

import pytest
import torch

from staf.planning.recipes import default
from staf.storage import FileError
from staf.training import Checkpoint, Interrupted, run
from staf.training.callback_state import gather, restore
from tests.training.problem import small_siren, task


class StopAtTheThird:
    """Ends a fit at the third step that it sees."""

    def __init__(self):
        self.seen = 0

    def __call__(self, state):
        self.seen += 1
        if self.seen == 3:
            state.stop("three were enough")

    def tensors(self):
        return {"seen": torch.tensor(self.seen)}

    def load_tensors(self, tensors):
        self.seen = int(tensors["seen"])


class Strike:
    """Sends SIGINT after a step."""

    def __init__(self, step):
        self.step = step

    def __call__(self, state):
        if state.step == self.step:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)


def interrupted(path, *callbacks, problem=None):
    with pytest.raises(Interrupted):
        run(
            problem or task(),
            small_siren(),
            default(steps=20),
            progress=False,
            callbacks=callbacks,
            checkpoint=path,
        )
    return Checkpoint.load(path)


def test_a_resumed_callback_goes_on_from_what_it_had_found(tmp_path):
    saved = interrupted(tmp_path / "c.safetensors", Strike(2), StopAtTheThird())
    assert saved.step == 2
    result = run(
        task(), small_siren(seed=1), saved.recipe, progress=False, callbacks=[print, StopAtTheThird()], resume=saved
    )
    assert (result.steps, result.stopped) == (3, "three were enough")


def test_a_fit_whose_end_was_reached_is_only_measured(tmp_path):
    path, problem = tmp_path / "c.safetensors", task()
    problem.evaluate = lambda predict: os.kill(os.getpid(), signal.SIGINT) or time.sleep(5)
    saved = interrupted(path, StopAtTheThird(), problem=problem)
    assert (saved.step, saved.stopped) == (3, "three were enough")
    resumed = run(task(), small_siren(seed=1), saved.recipe, progress=False, callbacks=[StopAtTheThird()], resume=saved)
    straight = run(task(), small_siren(), saved.recipe, progress=False, callbacks=[StopAtTheThird()])
    assert (resumed.steps, resumed.stopped) == (straight.steps, straight.stopped) == (3, "three were enough")
    assert resumed.metrics == straight.metrics


def test_both_reasons_at_the_same_step(tmp_path):
    saved = interrupted(tmp_path / "c.safetensors", Strike(3), StopAtTheThird())
    result = run(task(), small_siren(), saved.recipe, progress=False, callbacks=[StopAtTheThird()], resume=saved)
    assert (result.steps, result.stopped) == (3, "three were enough")


def test_other_callbacks_are_refused(tmp_path):
    saved = interrupted(tmp_path / "c.safetensors", Strike(2), StopAtTheThird())
    for others in ([], [StopAtTheThird(), StopAtTheThird()]):
        with pytest.raises(FileError, match=r"the state of 1 callbacks, and \d callbacks with a state were given"):
            run(task(), small_siren(), saved.recipe, progress=False, callbacks=others, resume=saved)
    with pytest.raises(FileError, match="another callback than StopAtTheThird: 'seen'"):
        restore([StopAtTheThird()], {"0/sought": torch.tensor(1)})
    with pytest.raises(FileError, match="the state of 2 callbacks"):
        restore([StopAtTheThird()], {"0/seen": torch.tensor(1), "x": torch.tensor(1)})


def test_each_callback_gets_its_own():
    first, second = StopAtTheThird(), StopAtTheThird()
    restore([print, first, second], {"0/seen": torch.tensor(1), "1/seen": torch.tensor(2)})
    assert (first.seen, second.seen) == (1, 2)
    assert gather([second, print, first]) == {"0/seen": torch.tensor(2), "1/seen": torch.tensor(1)}
