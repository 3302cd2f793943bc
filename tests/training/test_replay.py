"""Recorded passes: when they are made and how many are kept, with a stand-in for the graph."""

from __future__ import annotations

import contextlib
import threading

import pytest
import torch
from torch import nn

from staf.training import replay
from staf.training.prediction import predictor
from staf.training.replay import KEPT, Replays
from tests.training.problem import small_siren, small_staf
from tests.training.replays import Counting

CPU = torch.device("cpu")


class FakeRecording:
    """Stands for a graph: gives what the module gave when it was recorded."""

    made, bytes = 0, 1

    def __init__(self, module, coordinates):
        type(self).made += 1
        self.values = module(coordinates)

    def __call__(self, coordinates):
        return self.values


class Failing(FakeRecording):
    def __init__(self, module, coordinates):
        type(self).made += 1
        raise RuntimeError("operation not permitted when stream is capturing")


class Large(FakeRecording):
    """Too large for many points, large for few."""

    bytes = 0.4 * replay.MOST_BYTES

    def __init__(self, module, coordinates):
        super().__init__(module, coordinates)
        if len(coordinates) > replay.FEW_POINTS:
            raise replay.TooLarge


@pytest.fixture
def recordings(monkeypatch):
    FakeRecording.made = 0
    monkeypatch.setattr(replay, "Recording", FakeRecording)
    return FakeRecording


def test_the_third_pass_of_a_kind_is_recorded(recordings):
    replays, module, x = Replays(), Counting(), torch.ones(3, 2)
    for _ in range(2):
        replays("a", module, x)
    assert (module.calls, recordings.made) == (2, 0)
    replays("a", module, x)
    assert (module.calls, recordings.made) == (3, 1)
    replays("a", module, x)
    assert (module.calls, recordings.made) == (3, 1)
    replays("b", module, x)
    assert (module.calls, recordings.made) == (4, 1)


def test_only_the_latest_recordings_are_kept(recordings):
    replays, module, x = Replays(), Counting(), torch.ones(3, 2)
    for key in range(KEPT):
        for _ in range(3):
            replays(key, module, x)
    replays(0, module, x)
    for _ in range(3):
        replays("new", module, x)
    assert recordings.made == KEPT + 1
    before = module.calls
    replays(0, module, x)
    assert module.calls == before
    replays(1, module, x)
    assert module.calls == before + 1


def test_many_sizes_leave_little_behind(recordings):
    replays, module = Replays(), Counting()
    for key in range(1000):
        replays(key, module, torch.ones(1, 2))
    assert len(replays._calls) <= 8 * KEPT
    assert recordings.made == 0


def test_what_cannot_be_recorded_runs_and_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(replay, "Recording", Failing)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    replays, module, x = Replays(), Counting(), torch.ones(3, 2)
    for key in ("a", "b"):
        for _ in range(5):
            assert replays(key, module, x) is x
    assert (module.calls, Failing.made) == (10, 1)


def test_many_points_are_recorded_later(recordings):
    replays, module, x = Replays(), Counting(), torch.ones(replay.FEW_POINTS + 1, 2)
    for _ in range(32):
        replays("a", module, x)
    assert (module.calls, recordings.made) == (32, 0)
    for _ in range(3):
        replays("a", module, x)
    assert (module.calls, recordings.made) == (33, 1)


def test_what_would_keep_too_much_runs_and_is_not_tried_again_while_others_are(monkeypatch):
    monkeypatch.setattr(replay, "Recording", Large)
    Large.made = 0
    replays, module = Replays(), Counting()
    many, few = torch.ones(replay.FEW_POINTS + 1, 2), torch.ones(3, 2)
    for _ in range(40):
        replays("many", module, many)
    assert Large.made == 1
    before = module.calls
    for _ in range(5):
        replays("few", module, few)
    assert (Large.made, module.calls - before) == (2, 3)


def test_recordings_of_a_network_keep_so_many_bytes_together(monkeypatch):
    monkeypatch.setattr(replay, "Recording", Large)
    replays, module = Replays(), Counting()
    for key in range(KEPT):
        for _ in range(3):
            replays(key, module, torch.ones(3, 2))
    assert list(replays._recordings) == [KEPT - 2, KEPT - 1]


@pytest.mark.parametrize(("free", "unused", "modest"), [(1e12, 0, True), (0, 1e12, True), (2e9, 1e8, False)])
def test_a_recording_may_keep_an_eighth_of_the_free_memory(free, unused, modest, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: unused)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 0)
    assert replay._is_modest(266 * 2**20, CPU) is modest
    assert not replay._is_modest(512 * 2**20, CPU)


def test_passes_that_fail_are_not_counted(recordings):
    replays, layer = Replays(), nn.Linear(2, 2)
    for _ in range(5):
        with pytest.raises(RuntimeError):
            replays("a", layer, torch.ones(3, 7))
    assert recordings.made == 0
    assert not replays._refused


def test_a_worker_thread_replays_and_does_not_record(recordings):
    replays, module, x = Replays(), Counting(), torch.ones(3, 2)

    def work():
        for _ in range(5):
            replays("a", module, x)

    def in_a_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    in_a_thread()
    assert (module.calls, recordings.made) == (5, 0)
    replays("a", module, x)
    assert (module.calls, recordings.made) == (6, 1)
    in_a_thread()
    assert (module.calls, recordings.made) == (6, 1)


def test_a_cpu_pass_is_never_recorded(recordings):
    field = small_staf()
    for _ in range(5):
        predictor(field, 16)(torch.rand(8, 2))
    assert recordings.made == 0
    assert field not in replay._replays


def test_a_pass_is_recorded_on_a_stream_of_its_own_gpu(monkeypatch):
    streams = []

    @contextlib.contextmanager
    def graph(recorded, *, stream, capture_error_mode):
        streams.append(stream)
        yield

    monkeypatch.setattr(torch.cuda, "device", contextlib.nullcontext)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: ("stream of", device))
    monkeypatch.setattr(torch.cuda, "graph", graph)
    replay.recording_stream.cache_clear()
    replay.Recording(small_siren(), torch.zeros(3, 2))
    replay.recording_stream.cache_clear()
    assert streams == [("stream of", CPU)]
