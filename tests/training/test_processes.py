"""Several processes that train one network give the losses of one, to rounding."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

import staf
from staf.training import Recipe, processes, run
from staf.training.processes import Processes, current, own_device, several_processes
from tests.training.problem import small_staf, task

PROGRAM = """
import numpy as np, torch, staf
from staf.cli import main
from staf.training import several_processes
from tests.kinds.scene import small


def fit(shape=(9, 7, 3), network=staf.staf, signal=None, sizes=(), **more):
    drawn = torch.Generator().manual_seed(0)
    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    signal = staf.open(array, kind="image" if len(shape) == 3 else "grid") if signal is None else signal
    sizes = dict(sizes) or {"width": 16, "depth": 2}
    field = network(signal.in_features, signal.out_features, **sizes, generator=drawn)
    recipe = staf.recipes.default(steps=6).replace(**more)
    return staf.fit(signal, field, recipe, progress=False, device="cpu")


def losses():
    tables = {"levels": 2, "log2_entries": 6, "width": 8, "depth": 2}
    scene = {"signal": small.scene(train=2, test=1, size=8, ray_samples=24), "batch": 64, "table_rate": 3e-2}
    some = {
        "an image": {},
        "mini-batches": {"batch": 10},
        "fewer points than processes": {"batch": 1},
        "a penalty": {"network": staf.incode, "sizes": {"width": 8, "depth": 2}},
        "a volume": {"shape": (5, 4, 3, 1)},
        "an array of four axes": {"shape": (3, 2, 3, 2, 1), "batch": 20},
        "a hash grid": {"network": staf.ngp, "sizes": tables},
        "a scene": {**scene, "network": lambda inputs, outputs, **own: small.field(width=8, log2_entries=8)},
    }
    return {name: fit(**more).history.loss for name, more in some.items()}


def together():
    with several_processes() as processes:
        found = losses()
        timed = fit(steps=10**6, seconds=0.3)
        assert timed.stopped == "the time is up"
        assert timed.result.steps == processes.agree(timed.result.steps)
        assert main(["fit", "a.png", "--steps", "2", "--out", "run", "--device", "cpu", "--model", "siren"]) == 0
        assert main(["fit", "a.png", "--view"]) == 2
    return found
"""


def test_two_processes_have_the_losses_of_one(tmp_path, monkeypatch, capsys):
    """This process is the first of two; torchrun would take some seconds to start them."""
    staf.Image(np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)).save(tmp_path / "a.png")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    end = "\nimport json; print(json.dumps(together()))"
    second = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + end],
        env={**os.environ, **shared, "RANK": "1", "LOCAL_RANK": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    program: dict = {}
    exec(PROGRAM, program)
    alone = program["losses"]()
    monkeypatch.chdir(tmp_path)
    for name, value in {**shared, "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    first = program["together"]()
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert json.loads(out) == first, "the second process prints nothing of its own"
    for name, expected in alone.items():
        assert len(expected) == 6
        assert first[name] == pytest.approx(expected, rel=2e-4), name
    assert "dB PSNR" in capsys.readouterr().out
    assert staf.load(tmp_path / "run" / "model.safetensors").metadata["steps"] == 2


def test_shares_cover_every_point_once():
    for world in (1, 2, 3, 5):
        for size in (1, 4, 7):
            rows = [Processes(rank, world).rows(size) for rank in range(world)]
            assert [point for first, last in rows for point in range(first, last)] == list(range(size))


def test_one_process_alone_is_left_as_it_is(monkeypatch):
    with several_processes() as alone:
        assert alone == current() == Processes()
    loss = torch.ones(1)
    assert alone.add([], loss) is loss
    assert (alone.agree(3.5), alone.largest(4)) == (3.5, 4)
    assert own_device("cuda") == "cuda"
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "MASTER_ADDR": "x"}.items():
        monkeypatch.setenv(name, value)
    assert own_device("cuda") == "cuda:1"
    assert own_device("cuda:0") == "cuda:0"


class Whole(Processes):
    """The first of two processes by its calls, which computes every point itself."""

    def rows(self, size):
        return 0, size


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [None, 200])
def test_gradients_through_nccl_in_recorded_steps_are_unchanged(batch, monkeypatch):
    """One GPU is enough for a group of one process, whose sums are its own gradients."""

    def fit():
        return run(task(32).to("cuda"), small_staf().cuda(), Recipe(steps=20, batch=batch), progress=False)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    alone = fit()
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl", init_method=address, rank=0, world_size=1)
    try:
        monkeypatch.setattr(processes, "_current", Whole(0, 2))
        together = fit()
    finally:
        torch.distributed.destroy_process_group()
    assert together.notes == alone.notes == []
    assert together.history.loss == pytest.approx(alone.history.loss, rel=1e-5)
