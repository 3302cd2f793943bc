"""The captured loop against the eager one; everything here needs a GPU."""

from __future__ import annotations

import time

import pytest
import torch

from staf.nn import Wire, staf
from staf.ops import record_backends
from staf.ops.execution import Execution
from staf.ops.linear import product_precision
from staf.training import Recipe, run, train
from staf.training.batches import Batches
from staf.training.capture import CapturedStepper
from staf.training.optim.optimiser import Optimiser
from staf.training.stepper import Stepper
from tests.training.problem import small_staf, task

pytestmark = pytest.mark.gpu


def advance(kind, recipe, steps=12, make=small_staf):
    problem, field = task(32).to("cuda"), make().cuda()
    optimiser = Optimiser(field, recipe)
    batches = Batches(problem.points, recipe.batch_size(problem.points), torch.Generator("cuda").manual_seed(1))
    stepper = kind(problem, field, optimiser, batches, group=5, chunk=10**6)
    losses = []
    for start in range(0, steps, 5):
        count = min(5, steps - start)
        losses.append(stepper.advance([optimiser.rates(1.0 - 0.05 * (start + i)) for i in range(count)]))
    return torch.cat(losses), torch.cat([p.detach().flatten() for p in field.parameters()]), stepper


@pytest.mark.parametrize("optimiser", ["adam", "muon", "soap"])
@pytest.mark.parametrize("batch", [None, 200])
def test_captured_steps_are_the_eager_ones(optimiser, batch):
    recipe = Recipe(steps=1, batch=batch, optimiser=optimiser)
    losses, weights, stepper = advance(CapturedStepper, recipe)
    assert stepper.notes == []
    eager_losses, eager_weights, _ = advance(Stepper, recipe)
    torch.testing.assert_close(losses, eager_losses, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(weights, eager_weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("precision", ["bf16x3", "tf32"])
def test_captured_steps_of_fused_networks_have_the_bits_of_eager_ones(precision):
    def make():
        return staf(2, 3, width=64, depth=3, generator=torch.Generator().manual_seed(0))

    recipe = Recipe(steps=1)
    with product_precision(precision), record_backends() as ran:
        losses, weights, stepper = advance(CapturedStepper, recipe, make=make)
        eager_losses, eager_weights, _ = advance(Stepper, recipe, make=make)
    assert stepper.notes == []
    assert {("sine_network", "triton"), ("squared_error", "triton")} <= set(ran)
    assert torch.equal(losses, eager_losses)
    assert torch.equal(weights, eager_weights)


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("bf16x3", 3e-3), ("tf32", 5e-2)])
def test_captured_steps_of_wavelets_are_the_eager_ones(precision, tolerance, planar):
    def make():
        constants = {"omega0": 5.0, "hidden_omega0": 5.0, "sigma0": 5.0}
        return Wire(2, 3, width=45, depth=3, planar=planar, generator=torch.Generator().manual_seed(0), **constants)

    recipe = Recipe(steps=1, rate=1e-3)
    with product_precision(precision), record_backends() as ran:
        losses, weights, stepper = advance(CapturedStepper, recipe, make=make)
    assert stepper.notes == []
    assert {("gabor_network", "triton"), ("squared_error", "triton")} <= set(ran)
    assert ("gabor", "triton") not in ran
    # Complex numbers in float32, one by one.
    eager_losses, eager_weights, _ = advance(Stepper, recipe, make=make)
    torch.testing.assert_close(losses, eager_losses, rtol=tolerance, atol=tolerance * 1e-2)
    assert (weights - eager_weights).norm() < tolerance * eager_weights.norm()


def test_the_flat_adam_is_torchs_adam():
    fields = [small_staf().cuda() for _ in range(2)]
    ours = Optimiser(fields[0], Recipe(steps=1, rate=1e-2))
    torchs = torch.optim.Adam(fields[1].parameters(), lr=1e-2)
    generator = torch.Generator("cuda").manual_seed(0)
    for _ in range(10):
        for a, b in zip(fields[0].parameters(), fields[1].parameters(), strict=True):
            a.grad = torch.randn(a.shape, device="cuda", generator=generator)
            b.grad = a.grad.clone()
        ours.step()
        torchs.step()
    for a, b in zip(fields[0].parameters(), fields[1].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_captured_runs_eagerly_and_says_why():
    class Syncing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_staf().cuda()

        def forward(self, x):
            assert x.sum().item() < 1e9
            return self.inner(x)

    result = run(task(16).to("cuda"), Syncing(), Recipe(steps=30, rate=3e-3), progress=False)
    assert any("could not be captured" in note for note in result.notes)
    assert result.history.loss[-1] < result.history.loss[0]


@pytest.mark.parametrize("precision", ["fp32", "bf16x3", "tf32", "tf32-then-bf16x3"])
def test_every_precision_trains(precision):
    recipe = Recipe(steps=150, optimiser="muon", rate=3e-3, precision=precision)
    result = run(task(32).to("cuda"), small_staf().cuda(), recipe, progress=False)
    assert result.metrics["psnr"] > 25
    assert result.notes == []


def test_many_on_the_gpu_equal_each_alone():
    recipe = Recipe(steps=20, optimiser="muon")
    tasks = [task(n).to("cuda") for n in (16, 12, 16)]
    for problem in tasks:
        problem.target, problem.coordinates = problem.target.double(), problem.coordinates.double()
    together = train(tasks, [small_staf().double().cuda() for _ in tasks], recipe, progress=False)
    for problem, result in zip(tasks, together, strict=True):
        alone = run(problem, small_staf().double().cuda(), recipe, progress=False)
        for a, b in zip(result.field.parameters(), alone.field.parameters(), strict=True):
            assert (a - b).abs().max() < 1e-9


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_second_gpu_trains_as_the_first_does():
    losses = []
    for device in ("cuda:0", "cuda:1"):
        result = run(task(16).to(device), small_staf().to(device), Recipe(steps=30, rate=3e-3), progress=False)
        assert result.notes == []
        losses.append(result.history.loss)
    assert losses[0][-1] < losses[0][0]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_compiling_is_not_part_of_the_budget(monkeypatch):
    problem, calls = task(32), []
    whole = type(problem).loss

    def slow_at_first(self, *arguments):
        calls.append(1)
        if len(calls) == 1:
            time.sleep(2.0)
        return whole(self, *arguments)

    monkeypatch.setattr(type(problem), "loss", slow_at_first)
    execution = Execution(device="cuda")
    result = run(problem, small_staf(), Recipe(seconds=1.0), execution=execution, progress=False)
    assert result.steps > 10
    assert 1.0 <= result.seconds < 2.0
