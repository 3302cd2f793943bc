from __future__ import annotations

import torch

from staf.kinds import Shape
from staf.kinds.shape.task import Occupancy
from staf.planning.plans import Budget, plan


def test_shapes_and_their_tasks_get_their_own_constants(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shape = Shape.sphere(resolution=80)
    for signal in (shape, Occupancy(shape)):
        on_cpu, on_gpu = (plan(signal, Budget(steps=5), device=device) for device in ("cpu", "cuda"))
        assert (on_cpu.recipe.batch, on_gpu.recipe.batch) == (8192, 2**18)
        assert on_gpu.field(0).architecture["arguments"]["omega0"] == 30
    assert plan(Shape.sphere(resolution=16), device="cuda").recipe.batch is None


def test_every_kind_of_network_takes_a_shape(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    task = Occupancy(Shape.sphere(resolution=16))
    for model in ("staf", "pemlp", "incode", "wire"):
        field = plan(task, Budget(steps=1), model=model).field(0)
        if hasattr(field, "bind"):
            field.bind(task)
        assert field(torch.zeros(2, 3)).shape == (2, 1), model
    bands = plan(task, model="pemlp").field(0).architecture["arguments"]["bands"]
    assert bands == 2
