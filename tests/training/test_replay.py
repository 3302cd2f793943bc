"""Recorded passes: when they are made, what they depend on, and that they give what a plain pass gives."""

from __future__ import annotations

import contextlib
import copy
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import staf
from staf.ops.linear import product_precision
from staf.training import replay
from staf.training.prediction import predictor
from staf.training.replay import KEPT, Replays, network_state, parts_of
from tests.training.problem import small_siren, small_staf, task

CPU = torch.device("cpu")
MODELS = ["staf", "siren", "finer", "gauss", "wire", "ffn", "mfn", "incode"]


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


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x


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


def test_the_state_holds_what_a_pass_depends_on():
    field = small_siren()
    before = network_state(field, CPU)
    assert before is not None
    with torch.no_grad():
        field.output.weight.mul_(2.0)
    assert network_state(field, CPU) == before
    field.activation(0).omega0 = 12.0
    assert network_state(field, CPU) != before
    field.activation(0).omega0 = 30.0
    assert network_state(field, CPU) == before
    weight = field.layers[1].weight
    weight.data = weight.data.t()
    assert network_state(field, CPU) != before
    assert network_state(copy.deepcopy(field), CPU) != network_state(field, CPU)


def test_networks_that_are_not_known_or_not_alone_have_no_state():
    assert network_state(nn.Sequential(nn.Linear(2, 2), Counting()), CPU) is None
    assert network_state(small_siren(), torch.device("meta")) is None
    hooked = small_siren()
    handle = hooked.layers[0].register_forward_hook(lambda *given: None)
    assert network_state(hooked, CPU) is None
    handle.remove()
    assert network_state(hooked, CPU) is not None
    hooked.output.forward = lambda x: x
    assert network_state(hooked, CPU) is None
    compiled = small_siren()
    compiled.compile()
    assert network_state(compiled, CPU) is None


def test_constants_of_numpy_are_part_of_the_state_and_arrays_are_not_trusted():
    field = small_siren()
    states = set()
    for omega0 in np.array([10.0, 20.0], np.float32), np.array([10.5, 20.5]):
        for value in omega0:
            field.activation(0).omega0 = value
            states.add(network_state(field, CPU))
    assert len(states) == 4
    assert None not in states
    for array in (torch.tensor(30.0), np.array(30.0)):
        field.activation(0).omega0 = array
        assert network_state(field, CPU) is None


def test_the_precision_of_the_library_is_part_of_the_key_however_it_was_set(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
    field, x = small_siren(), torch.zeros(3, 2)
    library = torch.backends.cuda.matmul
    before = library.fp32_precision
    try:
        keys = []
        for precision in ("ieee", "tf32", "ieee"):
            library.fp32_precision = precision
            keys.append(replay._key(field, x))
    finally:
        library.fp32_precision = before
    assert keys[0] == keys[2] != keys[1]


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


@pytest.mark.parametrize("model", MODELS)
def test_every_own_network_is_known(model):
    field = getattr(staf, model)(2, 3, width=8, depth=2)
    assert network_state(field, CPU) is not None
    assert set(parts_of(field)) == set(field.modules())


def eager(field, x, precision="bf16x3"):
    with torch.no_grad(), product_precision(precision):
        return field(x)


def points(count, seed=0):
    return torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)).cuda() * 2 - 1


@pytest.mark.gpu
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [1, 64, 1000])
def test_replayed_values_are_the_eager_ones(model, count):
    field = getattr(staf, model)(2, 3, width=32, depth=3, generator=torch.Generator().manual_seed(0)).cuda().eval()
    if hasattr(field, "bind"):
        field.bind(task())
    predict = predictor(field, 2**14)
    outputs = [predict(points(count, seed)) for seed in range(6)]
    # Own kernels give the same bits; a library may choose another product while it is recorded.
    tolerance = 0.0 if model in ("staf", "siren", "finer", "gauss") else 1e-4
    for seed, out in enumerate(outputs):
        torch.testing.assert_close(out, eager(field, points(count, seed)), rtol=tolerance, atol=tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize("model", ["staf", "siren", "finer", "gauss"])
def test_own_networks_are_recorded(model):
    field = getattr(staf, model)(2, 3, width=32, depth=3).cuda()
    for _ in range(4):
        predictor(field, 2**14)(points(64))
    assert len(replay._replays[field]._recordings) == 1


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("width", "precision", "is_kept"), [(256, "tf32", True), (256, "bf16x3", False), (64, "bf16x3", True)]
)
def test_many_points_are_replayed_with_the_same_bits_where_memory_allows(width, precision, is_kept):
    field = staf.staf(2, 3, width=width, depth=4, generator=torch.Generator().manual_seed(0)).cuda().eval()
    predict, count = predictor(field, 2**20), 2**18
    with product_precision(precision):
        outputs = [predict(points(count, seed)) for seed in range(35)]
        recorded = replay._replays[field]._recordings
        assert len(recorded) == is_kept
        for recording in recorded.values():
            assert 0 < recording.bytes <= replay.MOST_BYTES
    for seed in (0, 32, 33, 34):
        assert torch.equal(outputs[seed], eager(field, points(count, seed), precision))


@pytest.mark.gpu
def test_changed_and_replaced_weights_are_seen():
    field, x = small_staf().cuda().eval(), points(64)
    predict = predictor(field, 2**14)
    for _ in range(4):
        predict(x)
    with torch.no_grad():
        field.output.bias.add_(1.0)
    assert torch.equal(predict(x), eager(field, x))
    field.output.bias.data = torch.full_like(field.output.bias, 5.0)
    assert torch.equal(predict(x), eager(field, x))
    field.cpu()
    predict(x.cpu())
    field.cuda()
    assert torch.equal(predict(x), eager(field, x))
    field.layers[1] = copy.deepcopy(field.layers[1])
    with torch.no_grad():
        field.layers[1].weight.mul_(0.5)
    assert torch.equal(predict(x), eager(field, x))


@pytest.mark.gpu
def test_precision_backend_dtype_and_mode_have_recordings_of_their_own():
    field, x = small_staf().cuda().eval(), points(64)
    predict = predictor(field, 2**14)
    for precision in ("fp32", "bf16x3", "tf32"):
        with product_precision(precision):
            outputs = [predict(x) for _ in range(4)]
        for out in outputs:
            torch.testing.assert_close(out, eager(field, x, precision), rtol=1e-5, atol=1e-5)
    with staf.ops.backend("loop"):
        outputs = [predict(x) for _ in range(4)]
        assert all(torch.equal(out, eager(field, x)) for out in outputs)
    with torch.inference_mode():
        outputs = [predict(points(32, seed)) for seed in range(4)]
    assert torch.equal(predict(points(32, 9)), eager(field, points(32, 9)))
    with staf.ops.record_backends() as ran:
        predict(x)
    assert ("sine_series", "triton") in ran


@pytest.mark.gpu
def test_strangers_run_as_they_are():
    field = nn.Sequential(small_siren(), Counting()).cuda()
    for _ in range(5):
        predictor(field, 2**14)(points(64))
    assert field[1].calls == 5


@pytest.mark.gpu
def test_threads_do_not_mix_their_points():
    field = small_staf().cuda().eval()
    predict = predictor(field, 2**14)
    wrong = []

    def work(seed):
        stream = torch.cuda.Stream() if seed % 2 else torch.cuda.default_stream()
        with torch.cuda.stream(stream):
            x = points(128, seed)
            expected = eager(field, x)
            wrong.extend(seed for _ in range(50) if not torch.equal(predict(x), expected))

    for _ in range(4):
        predict(points(128))
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.gpu
def test_recordings_go_with_their_network():
    field = small_staf().cuda()
    for _ in range(4):
        predictor(field, 2**14)(points(64))
    kept = len(replay._replays)
    del field
    assert len(replay._replays) == kept - 1


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_second_gpu_has_recordings_of_its_own():
    for device in ("cuda:0", "cuda:1"):
        field = small_staf().to(device).eval()
        predict = predictor(field, 2**14)
        for seed in range(6):
            x = points(64, seed).to(device)
            assert torch.equal(predict(x), eager(field, x))
        assert len(replay._replays[field]._recordings) == 1
