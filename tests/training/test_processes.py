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
from staf.training.processes import Processes, current, own_device, several_processes

PROGRAM = """
import numpy as np, torch, staf
from staf.cli import main
from staf.training import several_processes


def fit(**more):
    picture = np.random.default_rng(0).integers(0, 256, (9, 7, 3), np.uint8)
    field = more.pop("field", None) or staf.staf(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0))
    return staf.fit(picture, field, staf.recipes.default(steps=12).replace(**more), progress=False, device="cpu")


def losses():
    with_penalty = staf.incode(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    some = [{}, {"batch": 10}, {"batch": 1}, {"field": with_penalty}]
    return [fit(**more).history.loss for more in some]


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
        env={**os.environ, **shared, "RANK": "1", "LOCAL_RANK": "1"},
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
    for found, expected in zip(first, alone, strict=True):
        assert found == pytest.approx(expected, rel=2e-4)
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
