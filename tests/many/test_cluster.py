"""The cluster path with a stand-in for Ray, whose workers die as told, and once with Ray itself."""

from __future__ import annotations

import os
import signal
import socket
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import staf
from staf._files import WriteError
from staf.many import cluster as many_cluster


def small():
    def factory(generator):
        return staf.staf(2, 3, width=8, depth=2, terms=2, generator=generator)

    return staf.Plan(factory, staf.recipes.default(steps=2))


@pytest.fixture
def paths(tmp_path):
    rng = np.random.default_rng(0)
    out = [tmp_path / f"{number}.npy" for number in range(6)]
    for path in out:
        np.save(path, rng.integers(0, 256, (5, 4, 3), np.uint8))
    return out


class RayError(Exception): ...


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class StandIn:
    """What the library uses of Ray: tasks that run when they are waited for, in a process that may die."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, dies):
        self.dies, self.calls = dies, []

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 2.0}

    def put(self, value):
        return value

    def remote(self, **options):
        assert options == {"num_cpus": 1, "num_gpus": 0, "max_retries": 0}
        return lambda function: SimpleNamespace(remote=lambda *arguments: _Task(function, arguments))

    def wait(self, references, num_returns, timeout):
        return references[:num_returns], references[num_returns:]

    def get(self, task):
        names = [source.name for source in task.arguments[0]]
        self.calls.append(names)
        when = self.dies(names, len(self.calls))
        if when == "before":
            raise RayError("killed\nat once")
        try:
            done = task.function(*task.arguments)
        except Exception as error:
            raise RayTaskError(error) from error
        if when == "after":
            raise RayError("killed before it could answer")
        return done


class _Task:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


def run(monkeypatch, paths, out, dies, **more):
    ray = StandIn(dies)
    monkeypatch.setattr(many_cluster, "need", lambda extra, module: ray)
    monkeypatch.setattr("staf.many.units.UNIT_ON_CPU", 4)
    outcome = staf.fit_many(paths, plan=small(), out=out, cluster="auto", progress=False, **more)
    return outcome, ray


def weights(where):
    fields = staf.FieldSet(where)
    return {name: torch.cat([t.flatten() for t in fields[name].values()]) for name in sorted(fields.names)}


def assert_undisturbed(paths, where, tmp_path):
    staf.fit_many(paths, plan=small(), out=tmp_path / "whole", shards=True, progress=False)
    expected, found = weights(tmp_path / "whole"), weights(where)
    assert list(expected) == list(found)
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_a_worker_that_dies_costs_nothing_but_its_unit(paths, tmp_path, monkeypatch):
    outcome, ray = run(monkeypatch, paths, tmp_path / "set", lambda names, call: "before" if call == 1 else None)
    assert ray.calls[0] == ["0", "1", "2", "3"]
    assert len(ray.calls) == 3
    assert not outcome.failures
    assert_undisturbed(paths, tmp_path / "set", tmp_path)


def test_what_a_dead_worker_has_written_is_not_fitted_again(paths, tmp_path, monkeypatch):
    from staf.training import train

    trained = []
    monkeypatch.setattr(
        "staf.many.groups.train", lambda t, f, r, **o: trained.extend(o["names"]) or train(t, f, r, **o)
    )
    outcome, _ = run(monkeypatch, paths, tmp_path / "set", lambda names, call: "after" if call == 1 else None)
    assert sorted(trained) == [path.stem for path in paths]
    assert len(outcome) == 6
    assert_undisturbed(paths, tmp_path / "set", tmp_path)


def test_a_signal_that_kills_its_workers_is_found_and_reported(paths, tmp_path, monkeypatch):
    outcome, ray = run(monkeypatch, paths, tmp_path / "set", lambda names, call: "before" if "2" in names else None)
    assert outcome.failures == {"2": "the worker died: killed"}
    assert sorted(outcome.metrics) == ["0", "1", "3", "4", "5"]
    assert len(ray.calls) < 14
    # It may have been bad luck: the next run tries again.
    outcome, _ = run(monkeypatch, paths, tmp_path / "set", lambda names, call: None, resume=True)
    assert not outcome.failures
    assert_undisturbed(paths, tmp_path / "set", tmp_path)


def test_a_full_disk_of_a_worker_ends_the_run(paths, tmp_path, monkeypatch):
    real = many_cluster.fit_unit

    def full(unit, work):
        if unit[0].name == "4":
            raise WriteError(28, "cannot write x: the disk is full")
        return real(unit, work)

    monkeypatch.setattr(many_cluster, "fit_unit", full)
    with pytest.raises(WriteError, match="disk is full; 4 fields are in"):
        run(monkeypatch, paths, tmp_path / "set", lambda names, call: None)
    with pytest.raises(ValueError, match="give steps and not seconds"):
        run(monkeypatch, paths, tmp_path / "other", lambda names, call: None, seconds=1.0)


def test_places_that_workers_cannot_reach_and_clusters_that_do_not_answer(paths, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    pytest.importorskip("fsspec")
    options = {"plan": small(), "progress": False}
    with pytest.raises(ValueError, match="places that all its processes reach, got memory://set"):
        staf.fit_many(paths, out="memory://set", cluster="auto", **options)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="does not answer: start one with `ray start --head`"):
            staf.fit_many(paths, out=tmp_path / "set", cluster=address, **options)
    assert not (tmp_path / "set").exists(), "nothing is written before the cluster answers"


def test_a_worker_of_ray_that_is_killed(paths, tmp_path):
    """The first network that a worker builds ends it with SIGKILL."""
    pytest.importorskip("ray")
    driver, killed = os.getpid(), tmp_path / "killed"

    def factory(generator):
        if os.getpid() != driver and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return staf.staf(2, 3, width=8, depth=2, terms=2, generator=generator)

    plan = staf.Plan(factory, staf.recipes.default(steps=2))
    try:
        outcome = staf.fit_many(
            paths[:2], plan=plan, out=tmp_path / "set", cluster="local", progress=False, device="cpu"
        )
    except ConnectionError as error:
        if "timed out during startup" in str(error):
            pytest.skip("Ray did not start within its 30 s: the machine is too busy")
        raise
    assert killed.exists()
    assert len(outcome) == 2
    assert not outcome.failures
    assert_undisturbed(paths[:2], tmp_path / "set", tmp_path)
