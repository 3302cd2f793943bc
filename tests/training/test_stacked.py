from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.kinds import Image
from staf.nn import NETWORKS, incode, siren, staf
from staf.ops import Execution
from staf.tasks import Reconstruction
from staf.training import Recipe, run, stacked, train
from staf.training.stacked import Copies, StackedField, StackedTask, predictors


def train_many(tasks, fields, recipe, **options):
    return train(tasks, fields, recipe, progress=False, **options)


def picture(seed, height=12, width=10):
    rng = np.random.default_rng(seed)
    y, x = np.meshgrid(np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
    phases = rng.random(3) * 6
    return Image(np.stack([0.5 + 0.4 * np.sin(6 * x + 4 * y * p + p) for p in phases], -1).astype(np.float32))


def task(image, dtype=torch.float64):
    problem = Reconstruction(image)
    problem.target, problem.coordinates = problem.target.to(dtype), problem.coordinates.to(dtype)
    return problem


def field(model=staf, **options):
    return model(2, 3, width=12, depth=3, generator=torch.Generator().manual_seed(0), dtype=torch.float64, **options)


@pytest.mark.parametrize("optimiser", ["adam", "muon", "soap"])
@pytest.mark.parametrize(("batch", "sizes"), [(None, [(12, 10), (7, 9), (12, 10)]), (50, [(12, 10)] * 3)])
def test_together_equals_each_alone(optimiser, batch, sizes):
    recipe = Recipe(steps=8, batch=batch, optimiser=optimiser, amplitude_rate=3.0)
    images = [picture(i, *size) for i, size in enumerate(sizes)]
    together = train_many([task(i) for i in images], [field() for _ in images], recipe, seed=5)
    for image, result in zip(images, together, strict=True):
        alone = run(task(image), field(), recipe, seed=5, progress=False)
        for (name, a), b in zip(result.field.named_parameters(), alone.field.parameters(), strict=True):
            assert (a - b).abs().max() < 1e-9, name
        assert result.metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=1e-6)
        assert len(result.history) == 8


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "incode"])
def test_every_network_can_be_stacked(name):
    fields = [
        NETWORKS[name].factory(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(i)) for i in range(3)
    ]
    x = torch.rand(3, 7, 2)
    expected = torch.stack([f(x[i]) for i, f in enumerate(fields)])
    torch.testing.assert_close(StackedField(fields)(x), expected, atol=1e-5, rtol=1e-4)


def test_padding_has_no_weight():
    stacked = StackedTask([task(picture(0, 4, 4)), task(picture(1, 2, 3))])
    batch = stacked.batch(None)
    assert batch.target.shape == (2, 16, 3)
    assert batch.weight[1, 6:].eq(0).all()
    torch.testing.assert_close(batch.weight.sum(1), torch.ones(2))


def test_one_divergence_leaves_the_others_alone():
    fields = [field(siren) for _ in range(3)]
    with torch.no_grad():
        fields[1].layers[1].weight.fill_(float("nan"))
    results = train_many([task(picture(i)) for i in range(3)], fields, Recipe(steps=15))
    assert results[1].stopped.startswith("diverged")
    assert not any(result.field.training for result in results)
    for i in (0, 2):
        alone = run(task(picture(i)), field(siren), Recipe(steps=15), progress=False)
        assert results[i].stopped == "finished"
        assert results[i].metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=1e-6)


def test_divergence_keeps_the_best_weights():
    results = train_many([task(picture(0))], [field(siren)], Recipe(steps=100, rate=30.0))
    assert results[0].stopped.startswith("diverged")
    assert results[0].metrics["psnr"] > 3


@pytest.mark.parametrize("together", [True, False])
def test_each_network_is_measured_by_its_own_values_at_the_points_asked_for(together):
    fields = [field(omega0=omega0) for omega0 in (5.0, 20.0, 60.0)]
    problem = StackedTask([task(picture(i, *size)) for i, size in enumerate([(12, 10), (7, 9), (3, 4)])])
    predicts, _ = predictors(StackedField(fields), problem, Execution(), chunk=50, together=together)
    for single, alone, predict in zip(problem.tasks, fields, predicts, strict=True):
        for points in (single.coordinates, single.coordinates.flip(0), torch.zeros(5, 2, dtype=torch.float64)):
            torch.testing.assert_close(predict(points), alone(points))


def test_several_are_measured_at_once_as_each_is_alone():
    tasks = [task(picture(i, 14, 12)) for i in range(3)]
    values = torch.rand(3, 14 * 12, tasks[0].out_features, generator=torch.Generator().manual_seed(0)) * 1.2
    found = tasks[0].evaluate_each(tasks[1:], values)
    for single, own, measures in zip(tasks, values, found, strict=True):
        shown = single.reconstruction.array
        assert measures == pytest.approx(single.evaluate(lambda _, own=own: own))
        assert (shown == single.reconstruction.array).all()
    assert tasks[0].evaluate_each([task(picture(1, 12, 14))], values[:2]) is None


def test_frozen_parts_stay_and_are_copied_back():
    fields = [field(train=("phase",)) for _ in range(2)]
    before = fields[0].state_dict()["activations.0.frequency"].clone()
    train_many([task(picture(i)) for i in range(2)], fields, Recipe(steps=3))
    assert torch.equal(fields[0].state_dict()["activations.0.frequency"], before)


def test_what_cannot_be_batched_is_refused():
    with pytest.raises(ValueError, match="of one size"):
        train_many([task(picture(0)), task(picture(1, 3, 3))], [field(), field()], Recipe(steps=1, batch=4))
    tasks, fields = [task(picture(i)) for i in range(2)], [field(), field()]
    with pytest.raises(ValueError, match="a checkpoint holds a single fit, got 2 tasks"):
        train_many(tasks, fields, Recipe(steps=1), checkpoint="c.safetensors")

    class Finishing:
        def __call__(self, state): ...

        def finish(self, module): ...

    with pytest.raises(ValueError, match="belongs to a single fit"):
        train_many(tasks, fields, Recipe(steps=1), callbacks=[Finishing()])


def test_networks_that_read_their_task_are_trained_one_after_another():
    def fresh():
        return incode(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0))

    pictures = [picture(i) for i in range(2)]
    together = train_many([Reconstruction(i) for i in pictures], [fresh(), fresh()], Recipe(steps=4), seed=1)
    for image, result in zip(pictures, together, strict=True):
        alone = run(Reconstruction(image), fresh(), Recipe(steps=4), seed=1, progress=False)
        assert result.history.loss == alone.history.loss
        assert result.metrics == alone.metrics


def test_seconds_are_those_of_all_networks_together():
    results = train_many([task(picture(i)) for i in range(3)], [field() for _ in range(3)], Recipe(seconds=0.4))
    assert [result.stopped for result in results] == ["the time is up"] * 3
    assert len({result.steps for result in results}) == 1
    assert 0.3 < results[0].seconds < 4


def test_a_network_that_reaches_the_target_keeps_its_weights_and_the_others_continue():
    flat = Image(np.full((12, 10, 3), 0.5, dtype=np.float32))
    recipe = Recipe(steps=60, rate=5e-3, target_db=30.0)
    results = train_many([task(flat), task(picture(1))], [field(), field()], recipe)
    assert results[0].stopped.startswith("reached 3")
    assert results[0].steps < results[1].steps == 60
    assert len(results[0].history) == results[0].steps
    alone = run(task(flat), field(), recipe, progress=False)
    assert (alone.steps, alone.stopped) == (results[0].steps, results[0].stopped)
    for a, b in zip(results[0].field.parameters(), alone.field.parameters(), strict=True):
        assert (a - b).abs().max() < 1e-9


def test_callbacks_see_every_network_with_its_own_weights_and_can_end_it():
    seen = []

    def watch(state):
        with torch.no_grad():
            seen.append((state.step, state.network, state.name, state.field(torch.zeros(1, 2).double()).sum().item()))
        if state.name == "b" and state.step == 2:
            state.stop("b is done")

    results = train_many(
        [task(picture(i)) for i in range(2)], [field(), field()], Recipe(steps=4), names=["a", "b"], callbacks=[watch]
    )
    assert [(step, name) for step, _, name, _ in seen] == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (4, "a")]
    assert [result.stopped for result in results] == ["finished", "b is done"]
    assert [result.steps for result in results] == [4, 2]
    for value, result in zip((seen[-1][3], seen[3][3]), results, strict=True):
        with torch.no_grad():
            assert result.field(torch.zeros(1, 2).double()).sum().item() == pytest.approx(value, abs=1e-12)


def test_mini_batches_of_large_data_are_stacked_one_by_one(monkeypatch):
    tasks = [task(picture(i)) for i in range(3)]
    index, weight = torch.tensor([3, 0, 7]), torch.full((3,), 1 / 3, dtype=torch.float64)
    once = StackedTask(tasks).batch(index, weight)
    monkeypatch.setattr(stacked, "STACKED_POINTS", 10)
    monkeypatch.setattr(StackedTask, "whole", lambda self: pytest.fail("all points were stacked"))
    for a, b in zip(StackedTask(tasks).batch(index, weight), once, strict=True):
        assert torch.equal(a, b)


def test_copies_are_made_once_and_are_apart():
    first = field()
    copies = Copies(first, 3)
    assert len(copies) == 3
    assert copies[0] is first
    assert copies[1] is copies[1]
    assert copies[1].state_dict().keys() == first.state_dict().keys()
    train_many([task(picture(i)) for i in range(3)], copies, Recipe(steps=3))
    weights = [dict(member.named_parameters())["output.weight"] for member in copies]
    assert not torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[1], weights[2])
    handle = copies[1].register_forward_hook(lambda *_: None)
    assert not copies[2]._forward_hooks
    handle.remove()


def test_copies_that_fail_say_so_where_they_are_asked_for():
    class Stubborn(torch.nn.Linear):
        def __deepcopy__(self, memory):
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        Copies(Stubborn(1, 1), 2)[1]
