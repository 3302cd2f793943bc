from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from staf.nn import finer, incode, siren
from staf.planning.recipes import default
from staf.storage import FileError, file, load_field, read_header
from staf.training import Checkpoint, Interrupted, Recipe, run
from tests.training.problem import picture, small_siren, small_staf, task

SCRIPT = """
import sys, time
import staf
from staf.training import Interrupted, Recipe
sys.path.insert(0, {folder!r})
from tests.training.problem import picture, small_staf

recipe = Recipe(epochs=30, batch=100, optimiser="soap")

def slowly(state):
    print("step", state.step, flush=True)
    time.sleep(0.02)

try:
    staf.fit(picture(), small_staf(), recipe, seed=3, progress=False, checkpoint={path!r}, callbacks=[slowly])
except Interrupted as stopped:
    print(stopped, flush=True)
    sys.exit(128 + stopped.signal_number)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fit_killed_at_a_random_step_resumes_to_the_same_bits(tmp_path, number):
    path = tmp_path / "checkpoint.safetensors"
    script = SCRIPT.format(folder=os.getcwd(), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    target = random.SystemRandom().randint(2, 60)
    for line in process.stdout:
        if line.startswith("step") and int(line.split()[1]) >= target:
            process.send_signal(number)
            break
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 128 + number
    assert f"resume='{path}'" in rest
    saved = Checkpoint.load(path)
    assert target <= saved.step < 90

    recipe = Recipe(epochs=30, batch=100, optimiser="soap")
    resumed = run(task(), small_staf(seed=9), saved.recipe, seed=saved.seed, progress=False, resume=saved)
    straight = run(task(), small_staf(), recipe, seed=3, progress=False)
    assert resumed.history.loss == straight.history.loss
    for a, b in zip(resumed.field.parameters(), straight.field.parameters(), strict=True):
        assert torch.equal(a, b)


def interrupt_at(step, path, field=None):
    def watch(state):
        if state.step == step:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.raises(Interrupted) as caught:
        run(task(), field or small_siren(), default(steps=20), progress=False, callbacks=[watch], checkpoint=path)
    return caught.value


def test_interruption_names_the_file_and_restores_the_handlers(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    stopped = interrupt_at(5, tmp_path / "c.safetensors")
    assert signal.getsignal(signal.SIGINT) is before
    assert stopped.checkpoint == tmp_path / "c.safetensors"
    assert "after step 5 of 20" in str(stopped)
    assert isinstance(stopped, KeyboardInterrupt)


def test_without_a_path_the_checkpoint_goes_into_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stopped = interrupt_at(3, None)
    assert Checkpoint.load(tmp_path / stopped.checkpoint).step == 3


def test_fit_resumes_through_the_surface(tmp_path):
    import staf

    path = tmp_path / "c.safetensors"
    interrupt_at(5, path, small_staf())
    resumed = staf.fit(picture(), small_staf(seed=1), resume=path, progress=False)
    straight = staf.fit(picture(), small_staf(), default(steps=20), progress=False)
    assert resumed.history.loss == straight.history.loss
    with pytest.raises(FileError, match="another recipe"):
        staf.fit(picture(), small_staf(), default(steps=21), resume=path, progress=False)


def test_other_data_or_another_network_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    interrupt_at(5, path)
    saved = Checkpoint.load(path)
    with pytest.raises(FileError, match="other data"):
        run(task(17), small_siren(), saved.recipe, progress=False, resume=saved)
    with pytest.raises(FileError, match="another network"):
        run(task(), small_staf(), saved.recipe, progress=False, resume=saved)


def test_the_same_shapes_with_other_constants_are_another_network(tmp_path):
    path = tmp_path / "c.safetensors"
    interrupt_at(5, path)
    saved = Checkpoint.load(path)
    for other in (siren(2, 3, width=16, depth=3, omega0=7.0), finer(2, 3, width=16, depth=3)):
        with pytest.raises(FileError, match="another network"):
            run(task(), other, saved.recipe, progress=False, resume=saved)
    with pytest.raises(FileError, match="float32"):
        run(task(), small_siren().double(), saved.recipe, progress=False, resume=saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "5"},
        {"step": 4},
        {"seed": None},
        {"elapsed": -1.0},
        {"chunk": 0},
        {"notes": "none"},
        {"notes": [3]},
        {"elapsed": 1e999},
        {"best_loss": float("nan")},
        {"best_loss": 10**400},
        {"best_step": 10**30},
        {"recipe": {"steps": 10**30}},
        {"seed": 2**70},
        {"recipe": []},
        {"recipe": {"steps": 20, "rate": "fast"}},
        {"recipe": {"steps": 20, "seconds": "ten"}},
        {"recipe": {"steps": 20, "freeze_activations_from": "end"}},
        {"recipe": {"steps": 20, "batch": [4]}},
        {"best_loss": []},
        {"architecture": 3},
        {"recipe": {"steps": 20, "schedule": "cosine"}},
        {"recipe": {"steps": 20, "target_db": "high"}},
    ],
)
def test_altered_checkpoints_are_refused(tmp_path, changes):
    path = tmp_path / "c.safetensors"
    interrupt_at(5, path)
    header = read_header(path)
    file.write(path, file.read_tensors(header), {**header.metadata, **changes})
    with pytest.raises(FileError):
        Checkpoint.load(path)


def test_an_incomplete_optimiser_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    interrupt_at(5, path)
    saved = Checkpoint.load(path)
    name = next(key for key in saved.optimiser if key.endswith(":exp_avg"))
    whole = saved.optimiser[name]
    saved.optimiser[name] = whole[:1]
    with pytest.raises(FileError, match="exp_avg of"):
        run(task(), small_siren(), saved.recipe, progress=False, resume=saved)
    del saved.optimiser[name]
    with pytest.raises(FileError, match="lacks exp_avg"):
        run(task(), small_siren(), saved.recipe, progress=False, resume=saved)


def test_a_field_is_not_a_checkpoint_and_a_checkpoint_holds_a_field(tmp_path):
    from staf.storage import save_field

    save_field(tmp_path / "f.safetensors", small_siren(), {})
    with pytest.raises(FileError, match="nothing to resume"):
        Checkpoint.load(tmp_path / "f.safetensors")
    field = small_siren()
    interrupt_at(2, tmp_path / "c.safetensors", field=field)
    loaded, metadata = load_field(tmp_path / "c.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), field.parameters(), strict=True))
    assert (metadata["steps"], metadata["signal"]["kind"]) == (2, "image")
    assert "position" not in metadata


def test_ctrl_c_can_end_a_fit_with_what_it_has(tmp_path):
    path = tmp_path / "c.safetensors"

    def strike(state):
        if state.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    options = {"progress": False, "checkpoint": path, "keep_when_stopped": True}
    result = run(task(), small_siren(), default(steps=20), callbacks=[strike], **options)
    assert (result.steps, result.stopped, result.checkpoint) == (5, "stopped by Ctrl-C", path)
    with torch.no_grad():
        assert result.metrics["psnr"] == pytest.approx(task().evaluate(result.field)["psnr"], abs=1e-3)
    saved = Checkpoint.load(path)
    resumed = run(task(), small_siren(seed=2), saved.recipe, progress=False, resume=saved)
    straight = run(task(), small_siren(), default(steps=20), progress=False)
    assert resumed.history.loss == straight.history.loss
    assert resumed.checkpoint is None


def test_a_second_ctrl_c_leaves_at_once_with_the_first_ones_checkpoint(tmp_path):
    path, problem = tmp_path / "c.safetensors", task()
    problem.evaluate = lambda predict: os.kill(os.getpid(), signal.SIGINT) or time.sleep(5)

    def strike(state):
        if state.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    options = {"progress": False, "checkpoint": path, "keep_when_stopped": True}
    with pytest.raises(Interrupted, match="after step 5 of 20"):
        run(problem, small_siren(), default(steps=20), callbacks=[strike], **options)
    assert Checkpoint.load(path).stopped is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_fit_is_measured_loses_nothing(tmp_path, number):
    class Other:
        """Puts other weights in place to be measured, as early stopping does."""

        def __call__(self, state):
            pass

        def finish(self, module):
            torch.nn.init.zeros_(module.output.weight)
            return "other weights"

    path, problem = tmp_path / "c.safetensors", task()
    measure, problem.evaluate = problem.evaluate, lambda predict: os.kill(os.getpid(), number) or time.sleep(5)
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match="after step 6 of 6") as caught:
        run(problem, small_staf(), default(steps=6), progress=False, checkpoint=path, callbacks=[Other()])
    assert signal.getsignal(number) is before
    assert caught.value.signal_number == number
    problem.evaluate = measure
    saved = Checkpoint.load(path)
    resumed = run(problem, small_staf(seed=2), saved.recipe, progress=False, resume=saved)
    straight = run(task(), small_staf(), default(steps=6), progress=False)
    assert resumed.steps == 6
    assert resumed.metrics == straight.metrics


def test_the_checkpoint_of_a_network_that_reads_its_signal_is_for_resuming_alone(tmp_path):
    path = tmp_path / "c.safetensors"
    interrupt_at(1, path, incode(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0)))
    with pytest.raises(FileError, match="reads its signal while it is trained; resume the fit to render it"):
        load_field(path)
