from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.kinds import Image
from staf.nn import NETWORKS, incode, siren, staf
from staf.tasks import Reconstruction
from staf.training import Recipe, run
from staf.training.stacked import Copies, StackedField, StackedTask, _Keeper, _predictors, run_many


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
    recipe = Recipe(steps=20, batch=batch, optimiser=optimiser, amplitude_rate=3.0)
    images = [picture(i, *size) for i, size in enumerate(sizes)]
    together = run_many([task(i) for i in images], [field() for _ in images], recipe, seed=5)
    for image, result in zip(images, together, strict=True):
        alone = run(task(image), field(), recipe, seed=5, progress=False)
        for (name, a), b in zip(result.field.named_parameters(), alone.field.parameters(), strict=True):
            assert (a - b).abs().max() < 1e-9, name
        assert result.metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=1e-6)
        assert len(result.history) == 20


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
    results = run_many([task(picture(i)) for i in range(3)], fields, Recipe(steps=15))
    assert results[1].stopped.startswith("diverged")
    for i in (0, 2):
        alone = run(task(picture(i)), field(siren), Recipe(steps=15), progress=False)
        assert results[i].stopped == "finished"
        assert results[i].metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=1e-6)


def test_divergence_keeps_the_best_weights():
    results = run_many([task(picture(0))], [field(siren)], Recipe(steps=100, rate=30.0))
    assert results[0].stopped.startswith("diverged")
    assert results[0].metrics["psnr"] > 3


@pytest.mark.parametrize("together", [True, False])
def test_each_network_is_measured_by_its_own_values_at_the_points_asked_for(together):
    fields = [field(omega0=omega0) for omega0 in (5.0, 20.0, 60.0)]
    problem = StackedTask([task(picture(i, *size)) for i, size in enumerate([(12, 10), (7, 9), (3, 4)])])
    predicts = _predictors(StackedField(fields), problem, together=together)
    for single, alone, predict in zip(problem.tasks, fields, predicts, strict=True):
        for points in (single.coordinates, single.coordinates.flip(0), torch.zeros(5, 2, dtype=torch.float64)):
            torch.testing.assert_close(predict(points), alone(points))


def test_frozen_parts_stay_and_are_copied_back():
    fields = [field(train=("phase",)) for _ in range(2)]
    before = fields[0].state_dict()["activations.0.frequency"].clone()
    run_many([task(picture(i)) for i in range(2)], fields, Recipe(steps=3))
    assert torch.equal(fields[0].state_dict()["activations.0.frequency"], before)


def test_what_cannot_be_batched_is_refused():
    with pytest.raises(ValueError, match="seconds alone"):
        run_many([task(picture(0))], [field()], Recipe(seconds=1.0))
    with pytest.raises(ValueError, match="of one size"):
        run_many([task(picture(0)), task(picture(1, 3, 3))], [field(), field()], Recipe(steps=1, batch=4))
    with pytest.raises(ValueError, match="INCODE"):
        run_many([task(picture(0))], [incode(2, 3, width=8, depth=2)], Recipe(steps=1))


def test_a_network_that_stays_far_above_its_best_gets_its_best_weights_back():
    stack = StackedField([siren(2, 3, width=4, depth=2) for _ in range(2)])
    keeper = _Keeper(stack, patience=50)
    start = [parameter.detach().clone() for parameter in stack.parameters()]
    keeper.look(0, torch.tensor([[1e-4, 1e-4]]))
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.add_(1.0)
    for step in range(1, 60):
        keeper.look(step, torch.tensor([[0.5, 5e-3]]))
    assert keeper.finish(1) is None
    assert keeper.finish(0) == "diverged at step 51: the loss stayed near 0.5; the weights of step 0 are kept"
    for parameter, before in zip(stack.parameters(), start, strict=True):
        assert torch.equal(parameter[0], before[0])
        assert torch.equal(parameter[1], before[1] + 1.0)


def test_copies_are_made_once_and_are_apart():
    first = field()
    copies = Copies(first, 3)
    assert len(copies) == 3
    assert copies[0] is first
    assert copies[1] is copies[1]
    assert copies[1].state_dict().keys() == first.state_dict().keys()
    run_many([task(picture(i)) for i in range(3)], copies, Recipe(steps=3))
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
