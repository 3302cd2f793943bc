"""Recorded passes on a GPU give what a plain pass gives."""

from __future__ import annotations

import copy
import threading

import pytest
import torch
from torch import nn

import staf
from staf.ops.linear import product_precision
from staf.training import replay
from staf.training.prediction import predictor
from tests.training.problem import small_siren, small_staf, task
from tests.training.replays import MODELS, Counting

pytestmark = pytest.mark.gpu


def eager(field, x, precision="bf16x3"):
    with torch.no_grad(), product_precision(precision):
        return field(x)


def points(count, seed=0):
    return torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)).cuda() * 2 - 1


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


@pytest.mark.parametrize("model", ["staf", "siren", "finer", "gauss"])
def test_own_networks_are_recorded(model):
    field = getattr(staf, model)(2, 3, width=32, depth=3).cuda()
    for _ in range(4):
        predictor(field, 2**14)(points(64))
    assert len(replay._replays[field]._recordings) == 1


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


def test_strangers_run_as_they_are():
    field = nn.Sequential(small_siren(), Counting()).cuda()
    for _ in range(5):
        predictor(field, 2**14)(points(64))
    assert field[1].calls == 5


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


def test_recordings_go_with_their_network():
    field = small_staf().cuda()
    for _ in range(4):
        predictor(field, 2**14)(points(64))
    kept = len(replay._replays)
    del field
    assert len(replay._replays) == kept - 1


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_second_gpu_has_recordings_of_its_own():
    for device in ("cuda:0", "cuda:1"):
        field = small_staf().to(device).eval()
        predict = predictor(field, 2**14)
        for seed in range(6):
            x = points(64, seed).to(device)
            assert torch.equal(predict(x), eager(field, x))
        assert len(replay._replays[field]._recordings) == 1
