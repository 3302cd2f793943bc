from __future__ import annotations

import math
import os
import signal
import time

import pytest
import torch

import staf
from staf.ops import Execution, record_backends
from staf.planning import recipes
from staf.training import Checkpoint, Interrupted, State, run, train
from staf.training.history import History
from staf.training.prediction import predictor
from staf.training.progress import Progress
from staf.training.recipe import Recipe
from staf.training.schedules import Constant, Cosine
from staf.training.stepper import Stepper
from tests.training.problem import small_siren, small_staf, task


def fit(recipe, field=None, **options):
    field = field if field is not None else small_staf()
    return run(task(), field, recipe, progress=False, **options)


def weights(result):
    return torch.cat([p.detach().flatten() for p in result.field.parameters()])


@pytest.mark.parametrize("optimiser", ["adam", "muon", "soap"])
@pytest.mark.parametrize("batch", [None, 100])
def test_same_seed_same_bits(optimiser, batch):
    recipe = Recipe(steps=12, batch=batch, optimiser=optimiser)
    first, second = fit(recipe), fit(recipe)
    assert torch.equal(weights(first), weights(second))
    assert first.history.loss == second.history.loss
    other = fit(recipe, seed=1)
    assert (weights(other) == weights(first)).all().item() == (batch is None)


def test_epochs_count_mini_batches():
    result = fit(Recipe(epochs=3, batch=100))
    assert result.steps == 9
    assert result.stopped == "finished"


def test_reported_psnr_is_of_the_final_weights_clamped():
    problem = task()
    result = run(problem, small_siren(), Recipe(steps=30), progress=False)
    with torch.no_grad():
        prediction = result.field(problem.coordinates).clamp(0, 1)
    expected = -10 * math.log10((prediction - problem.target).double().square().mean().item())
    assert result.metrics["psnr"] == pytest.approx(expected, abs=1e-4)


def test_history_is_plain_and_falls():
    result = fit(recipes.default(steps=60))
    assert result.history.step == list(range(60))
    assert result.history.psnr[-1] > result.history.psnr[0] + 10
    rows = result.history.to_csv().splitlines()
    assert rows[0] == "step,loss,psnr,multiplier,seconds"
    assert len(rows) == 61


def test_chunks_change_nothing_but_rounding():
    recipe = Recipe(steps=5)
    whole = fit(recipe, small_siren().double(), chunk=10**6)
    parts = fit(recipe, small_siren().double(), chunk=37)
    torch.testing.assert_close(weights(whole), weights(parts), atol=1e-9, rtol=0)


def test_stops_at_a_target_confirmed_over_all_points():
    result = fit(Recipe(steps=5000, batch=64, rate=5e-3, target_db=25.0, schedule=Constant()))
    assert result.stopped.startswith("reached")
    assert result.metrics["psnr"] >= 25.0
    assert result.steps < 5000


def test_stops_when_the_time_is_up():
    result = fit(Recipe(seconds=0.5))
    assert result.stopped == "the time is up"
    assert 0.4 < result.seconds < 5


def test_a_slow_start_does_not_skip_the_rise_of_a_schedule_over_seconds(monkeypatch):
    advance = Stepper.advance

    def slow_at_first(self, rates):
        if not hasattr(self, "started"):
            self.started = True
            time.sleep(0.6)
        return advance(self, rates)

    shown = []
    monkeypatch.setattr(Stepper, "advance", slow_at_first)
    monkeypatch.setattr(Progress, "update", lambda self, *values: shown.append(values[-1]))
    result = fit(Recipe(seconds=1.2, schedule=Cosine(0.01, warm=0.5)))
    assert shown[0] > 0.4
    assert result.history.multiplier[1] < 0.25
    assert max(result.history.multiplier) > 0.4
    assert result.history.multiplier[-1] < 0.2
    assert result.history.multiplier[-1] < 0.2


def test_callbacks_see_every_step_and_can_stop():
    seen = []

    def watch(state):
        seen.append((state.step, state.loss))
        if state.step == 7:
            state.stop("enough")

    result = fit(Recipe(steps=50), callbacks=[watch])
    assert [step for step, _ in seen] == list(range(1, 8))
    assert result.stopped == "enough"
    assert [loss for _, loss in seen] == result.history.loss


def test_the_callbacks_of_a_task_run_before_those_of_the_user():
    problem, called = task(), []
    problem.callbacks = lambda: [lambda state: called.append("task")]
    run(
        problem, small_siren(), Recipe(steps=2), seed=0, progress=False, callbacks=[lambda state: called.append("user")]
    )
    assert called == ["task", "user"] * 2


def test_checkpoints_are_written_while_the_fit_runs(tmp_path, monkeypatch):
    path, seen = tmp_path / "c.safetensors", []

    def look(state):
        seen.append(Checkpoint.load(path).step if path.exists() else None)

    monkeypatch.setattr("staf.training.trainer.CHECKPOINT_SECONDS", 0.0)
    fit(Recipe(steps=3), callbacks=[look], checkpoint=path)
    assert seen == [None, 1, 2]


def test_a_target_is_not_confirmed_at_every_step(monkeypatch):
    """The loss of a batch may lie above the target for long: measuring all points then takes a sixth of the time."""
    problem, clock = task(), [0.0]
    measured = []

    def measure(predict):
        clock[0] += 1.0
        measured.append(clock[0])
        return {"psnr": 0.0}

    def tick(state):
        clock[0] += 0.1

    problem.confirm = measure
    monkeypatch.setattr("staf.training.loop.time.monotonic", lambda: clock[0])
    run(problem, small_siren(), Recipe(steps=90, target_db=1.0), seed=0, progress=False, callbacks=[tick])
    assert len(measured) == 2


def test_activations_freeze_from_a_step():
    snapshots = {}

    def watch(state):
        snapshots[state.step] = {name: p.detach().clone() for name, p in state.field.named_parameters()}

    fit(Recipe(steps=6, freeze_activations_from=3), callbacks=[watch])
    for name in snapshots[3]:
        moved_early = not torch.equal(snapshots[2][name], snapshots[3][name])
        moved_late = not torch.equal(snapshots[3][name], snapshots[6][name])
        activation = name.split(".")[-1] in ("amplitude", "frequency", "phase")
        assert moved_early
        assert moved_late != activation, name


def test_divergence_is_named_and_the_last_good_weights_are_kept():
    result = fit(Recipe(steps=400, rate=30.0, schedule=Constant()), small_siren())
    assert result.stopped.startswith("diverged at step")
    assert result.stopped in result.notes
    assert torch.isfinite(weights(result)).all()
    assert result.metrics["psnr"] > 3
    assert result.steps < 400


class NaNAfter(torch.nn.Module):
    """A field whose output turns into NaN once its counter passes a step."""

    def __init__(self, good_calls):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)
        self.calls, self.good_calls = 0, good_calls

    def forward(self, x):
        self.calls += 1
        return self.linear(x) * (float("nan") if self.calls > self.good_calls else 1.0)


def test_weights_returned_after_nan_are_those_whose_loss_was_best():
    kept = {}
    field = NaNAfter(good_calls=10)
    watch = lambda state: kept.update({state.step: field.linear.weight.detach().clone()})  # noqa: E731
    result = run(task(), field, Recipe(steps=40, rate=1e-2, schedule=Constant()), progress=False, callbacks=[watch])
    assert "the loss became nan" in result.stopped
    best_step = result.history.loss.index(min(result.history.loss[:10]))
    assert best_step > 0
    assert torch.equal(field.linear.weight, kept[best_step])


class Greedy(torch.nn.Module):
    """A field that runs out of memory over a number of points."""

    def __init__(self, limit):
        super().__init__()
        self.inner, self.limit = small_siren(), limit

    def forward(self, x):
        if torch.is_grad_enabled() and len(x) > self.limit:
            raise torch.OutOfMemoryError("out of memory")
        return self.inner(x)


def test_out_of_memory_goes_on_in_smaller_chunks_and_says_so():
    result = fit(Recipe(steps=4), Greedy(40))
    assert result.notes == [f"memory ran out: continuing with {n} points at a time" for n in (128, 64, 32)]
    plain = fit(Recipe(steps=4), small_siren())
    torch.testing.assert_close(weights(result), weights(plain), atol=1e-5, rtol=1e-4)


def test_nothing_fits():
    with pytest.raises(RuntimeError, match="one point at a time does not fit"):
        fit(Recipe(steps=1), Greedy(0))


def test_other_errors_are_not_taken_for_memory():
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        fit(Recipe(steps=1), torch.nn.Linear(3, 3))


def test_penalty_is_part_of_the_loss_and_bind_sees_the_task():
    class Hooked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_siren()
            self.extra = torch.nn.Parameter(torch.tensor(1.0))

        def bind(self, problem):
            self.seen = problem.observation.shape

        def penalty(self):
            return self.extra.square()

        def forward(self, x):
            return self.inner(x)

    field = Hooked()
    fit(Recipe(steps=50, rate=1e-2), field)
    assert field.seen == (3, 16, 16)
    assert field.extra.item() < 0.8


def test_global_torch_state_is_left_alone():
    before = (torch.get_num_threads(), torch.get_default_dtype(), torch.random.get_rng_state().clone())
    flags = (torch.backends.cuda.matmul.allow_tf32, torch.are_deterministic_algorithms_enabled())
    fit(recipes.default(steps=3))
    assert (torch.get_num_threads(), torch.get_default_dtype()) == before[:2]
    assert torch.equal(torch.random.get_rng_state(), before[2])
    assert (torch.backends.cuda.matmul.allow_tf32, torch.are_deterministic_algorithms_enabled()) == flags


# Trained activations, complex weights, and a network that reads its signal; tests/nn/test_learning.py has all.
MODELS = {
    "staf": {},
    # The published constants are for photos and thousands of steps.
    "wire": {"omega0": 5.0, "hidden_omega0": 5.0, "sigma0": 2.0},
    "incode": {},
}


@pytest.mark.parametrize("name", MODELS)
def test_a_network_learns_a_picture_far_beyond_its_start_and_the_mean(name):
    generator = torch.Generator().manual_seed(0)
    field = staf.nn.NETWORKS[name].factory(2, 3, width=48, depth=3, generator=generator, **MODELS[name])
    problem = task(24)
    if hasattr(field, "bind"):
        field.bind(problem)
    untrained = problem.evaluate(lambda x: field(x).detach())["psnr"]
    mean = -10 * math.log10(problem.target.var(0, unbiased=False).mean().item())
    result = run(problem, field, Recipe(steps=250, rate=3e-3), progress=False)
    assert result.stopped == "finished"
    assert result.metrics["psnr"] > max(untrained, mean) + 10


def test_a_field_without_parameters_is_named():
    with pytest.raises(ValueError, match="no parameters to train: Identity"):
        fit(Recipe(steps=1), torch.nn.Identity())


def test_a_target_for_a_task_that_measures_no_psnr():
    problem = task()
    problem.evaluate = lambda predict: {"error": 0.0}
    result = run(problem, small_staf(), recipes.default(steps=400).replace(target_db=20.0), progress=False)
    assert result.stopped.startswith("reached 2")
    assert result.steps < 400
    assert result.metrics == {"error": 0.0}


def test_time_left_of_a_resumed_fit_counts_the_steps_of_both(tmp_path, monkeypatch):
    path = tmp_path / "c.safetensors"

    def interrupt(state):
        if state.step == 10:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        fit(Recipe(steps=20), callbacks=[interrupt], checkpoint=path)
    saved = Checkpoint.load(path)
    saved.elapsed = 100.0
    seen = []
    monkeypatch.setattr(Progress, "update", lambda self, *arguments: seen.append(arguments[3:]))
    fit(saved.recipe, resume=saved)
    elapsed, fraction = seen[0]
    assert fraction == 11 / 20
    assert elapsed >= 100


def test_a_baked_incode_is_trained_on_with_its_four_numbers_fixed():
    field = staf.incode(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    field.bind(task())
    baked = field.baked()
    numbers = baked.constants.clone()
    result = fit(Recipe(steps=30, rate=3e-3), baked)
    assert result.history.loss[-1] < result.history.loss[0]
    assert torch.equal(baked.constants, numbers)


def test_no_points_have_no_values():
    assert predictor(small_siren(), 7)(torch.zeros(0, 2)).shape == (0, 3)
    assert predictor(small_siren(), 7)(torch.zeros(15, 2)).shape == (15, 3)


def test_a_reason_to_stop_is_given_by_calling_stop():
    state = State(1, 2, 0.5, 3.0, 0.1, small_siren(), History())
    with pytest.raises(AttributeError, match=r"State\.stop is a method"):
        state.stop = True

    def careless(state):
        state.stop = True

    with pytest.raises(AttributeError, match=r"call state.stop\("):
        fit(Recipe(steps=3), callbacks=[careless])


def test_an_execution_holds_for_steps_and_measures():
    with record_backends() as ran:
        fit(Recipe(steps=2), execution=Execution(backend="reference"))
    assert {name for _, name in ran} == {"reference"}
    with record_backends() as ran:
        fit(Recipe(steps=2), execution=Execution(backend="loop"))
    assert {name for _, name in ran} == {"loop"}


def test_an_execution_overrides_the_precision_of_a_recipe(monkeypatch):
    from staf.ops.linear import current_precision

    seen = []
    advance = Stepper.advance
    monkeypatch.setattr(Stepper, "advance", lambda s, rates: seen.append(current_precision()) or advance(s, rates))
    fit(Recipe(steps=2, precision="tf32-then-bf16x3"))
    fit(Recipe(steps=1, precision="tf32"), execution=Execution("fp32"))
    assert seen == ["tf32", "bf16x3", "fp32"]


@pytest.mark.parametrize(("tasks", "fields"), [(0, 0), (2, 1)])
def test_as_many_tasks_as_fields(tasks, fields):
    with pytest.raises(ValueError, match=f"must have the same length, got {tasks} and {fields}"):
        train([task()] * tasks, [small_siren()] * fields, Recipe(steps=1))


@pytest.mark.parametrize("warming_up", [False, True])
def test_the_clock_stands_still_while_kernels_of_other_shapes_are_compiled(monkeypatch, warming_up):
    plain = Stepper.advance

    def slow(stepper, rates):
        stepper.is_warming_up = warming_up
        time.sleep(0.05)
        return plain(stepper, rates)

    monkeypatch.setattr(Stepper, "advance", slow)
    monkeypatch.setattr("staf.training.clock.COMPILING", 0.04)
    result = fit(Recipe(steps=6))
    # The first steps are counted on a CPU.
    assert (result.seconds < 3 * 0.05) == warming_up
