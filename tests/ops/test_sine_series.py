"""The public function: meaning, shapes, refusals, dtypes, memory, torch.compile."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from staf import ops
from staf.ops import native

SHAPES = [
    ((), (3,)),
    ((7,), (1,)),
    ((5, 3), (4,)),
    ((2, 3, 4), (2,)),
    ((5, 3), (3, 4)),
    ((2, 5, 3), (3, 2)),
    ((1,), (1, 2)),
    ((2, 5, 3), (2, 1, 4)),
    ((2, 5, 3), (2, 3, 4)),
    ((2, 5, 6, 3), (2, 3, 1)),
    ((4, 3), (4, 1, 2)),
    ((4, 3), (4, 3, 2)),
]


def by_hand(x, amplitude, frequency, phase):
    """The formula with the shapes spelled out, apart from the library's own reference."""
    if amplitude.dim() == 3:
        shape = (amplitude.shape[0], *[1] * (x.dim() - 2), *amplitude.shape[1:])
        amplitude, frequency, phase = (p.reshape(shape) for p in (amplitude, frequency, phase))
    return (amplitude * torch.sin(frequency * x.unsqueeze(-1) + phase)).sum(-1)


@pytest.mark.parametrize("name", ["reference", "loop"])
@pytest.mark.parametrize(("x_shape", "set_shape"), SHAPES)
def test_every_shape_gives_the_formula(inputs, x_shape, set_shape, name):
    arguments = inputs(x_shape, set_shape)
    with ops.backend(name):
        found = ops.sine_series(*arguments)
    assert found.shape == torch.Size(x_shape)
    torch.testing.assert_close(found, by_hand(*arguments), rtol=1e-12, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    points=st.integers(0, 70),
    width=st.integers(1, 300),
    terms=st.integers(1, 6),
    networks=st.integers(1, 3),
    kind=st.sampled_from(["shared", "neuron", "batch", "batch of neurons"]),
    seed=st.integers(0, 2**31),
)
@example(points=69, width=177, terms=1, networks=1, kind="shared", seed=497)
def test_odd_sizes_agree_with_float64(points, width, terms, networks, kind, seed):
    generator = torch.Generator().manual_seed(seed)
    batch = (networks,) if kind.startswith("batch") else ()
    rows = (width,) if "neuron" in kind else ((1,) if batch else ())
    x = torch.randn(*batch, points, width, generator=generator).requires_grad_()
    sets = [torch.randn(*batch, *rows, terms, generator=generator).requires_grad_() for _ in range(3)]
    grad = torch.randn(x.shape, generator=generator)
    found = ops.sine_series(x, *sets)
    gradients = torch.autograd.grad(found, (x, *sets), grad)
    exact = [tensor.detach().double().requires_grad_() for tensor in (x, *sets)]
    expected = by_hand(*exact)
    expected_gradients = torch.autograd.grad(expected, exact, grad.double())
    torch.testing.assert_close(found.double(), expected, rtol=2e-6, atol=1e-5)
    for place, (mine, true) in enumerate(zip(gradients, expected_gradients, strict=True)):
        scale = float(true.abs().max()) if true.numel() else 0.0
        # Gradients of parameters are sums of up to 20,000 numbers, which may cancel while their rounding does not.
        rounding = 1e-8 * float(grad.abs().sum()) if place else 0.0
        torch.testing.assert_close(mine.double(), true, rtol=1e-5, atol=1e-5 + 1e-5 * scale + rounding)


@pytest.mark.parametrize("x_shape", [(0, 3), (4, 0), (0,), (2, 0, 3)])
def test_empty_inputs_give_empty_outputs_and_zero_parameter_gradients(inputs, x_shape):
    x, *sets = inputs(x_shape, (2,), dtype=torch.float32, requires_grad=True)
    found = ops.sine_series(x, *sets)
    gradients = torch.autograd.grad(found.sum(), (x, *sets))
    assert found.shape == gradients[0].shape == torch.Size(x_shape)
    assert all((gradient == 0).all() and gradient.shape == (2,) for gradient in gradients[1:])


def test_empty_batches_and_widths_keep_their_shapes(inputs):
    x, *sets = inputs((0, 4, 3), (0, 3, 2), dtype=torch.float32, requires_grad=True)
    assert torch.autograd.grad(ops.sine_series(x, *sets).sum(), sets)[0].shape == (0, 3, 2)
    x, *sets = inputs((4, 0), (0, 2), dtype=torch.float32, requires_grad=True)
    assert ops.sine_series(x, *sets).shape == (4, 0)


def test_non_contiguous_inputs(inputs, cpu_backend):
    x, *sets = inputs((6, 10), (10, 4), dtype=torch.float32)
    strided = x.t().contiguous().t()
    spread = [torch.stack([p, p], dim=-1)[..., 0] for p in sets]
    assert not strided.is_contiguous()
    assert not spread[0].is_contiguous()
    with ops.backend(cpu_backend):
        torch.testing.assert_close(ops.sine_series(strided, *spread), ops.sine_series(x, *sets), rtol=0, atol=0)
        expanded = x[:1].expand(6, 10).clone().requires_grad_()
        (found,) = torch.autograd.grad(ops.sine_series(expanded, *sets).sum(), expanded)
    (expected,) = torch.autograd.grad(by_hand(expanded, *sets).sum(), expanded)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_refusals_name_the_argument_the_rule_and_the_value(inputs):
    x, c, w, p = inputs((5, 3), (4,))
    with pytest.raises(TypeError, match=r"x must be float32 or float64, got torch.float16"):
        ops.sine_series(x.half(), c.half(), w.half(), p.half())
    with pytest.raises(TypeError):
        ops.sine_series(x.long(), c, w, p)
    with pytest.raises(TypeError, match=r"frequency must have the dtype of x, torch.float64, got torch.float32"):
        ops.sine_series(x, c, w.float(), p)
    with pytest.raises(ValueError, match=r"phase must be on the device of x, cpu, got meta"):
        ops.sine_series(x, c, w, p.to("meta"))
    with pytest.raises(ValueError, match=r"with at least one term, got \(0,\)"):
        ops.sine_series(x, c[:0], w[:0], p[:0])
    with pytest.raises(ValueError, match=r"x must have the last dimension 2, the rows of amplitude, got \(5, 3\)"):
        ops.sine_series(x, *(q.reshape(2, 2) for q in (c, w, p)))
    with pytest.raises(ValueError, match=r"x must have shape \(networks, ..., width\) with 2 networks, got \(5, 3\)"):
        ops.sine_series(x, *(q.reshape(2, 1, 2) for q in (c, w, p)))
    with pytest.raises(ValueError, match=r"amplitude must have 1 or 3 rows per network, as x is wide, got \(5, 2, 4\)"):
        ops.sine_series(x, *(q.expand(5, 2, 4) for q in (c, w, p)))
    with pytest.raises(ValueError, match=r"got \(1, 1, 1, 4\)"):
        ops.sine_series(x, *(q.expand(1, 1, 1, 4) for q in (c, w, p)))


@pytest.mark.parametrize("other", ["frequency", "phase"])
def test_parameters_of_different_shapes_are_refused(inputs, other):
    x, c, w, p = inputs((5, 3), (4,))
    changed = {"frequency": w, "phase": p, other: torch.zeros(2, dtype=x.dtype)}
    # With shape checks on in tests the annotation speaks first; without them the function's own message does.
    with pytest.raises((ValueError, TypeError)):
        ops.sine_series(x, c, **changed)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_computes_half_precision_inputs_in_the_parameters_dtype(inputs, dtype):
    x, *sets = inputs((5, 3), (4,), dtype=torch.float32, requires_grad=True)
    half = x.detach().to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        found = ops.sine_series(half, *sets)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, ops.sine_series(half.detach().float(), *sets), rtol=0, atol=0)
    gradients = torch.autograd.grad(found.sum(), (half, *sets))
    assert [g.dtype for g in gradients] == [dtype, torch.float32, torch.float32, torch.float32]
    assert gradients[0].abs().max() > 0


def test_no_temporary_of_points_times_terms(inputs):
    x, *sets = inputs((64, 32), (32, 9), dtype=torch.float32, requires_grad=True)

    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            for part in out if isinstance(out, tuple | list) else [out]:
                if isinstance(part, torch.Tensor):
                    Largest.size = max(Largest.size, part.numel())
            return out

    for name, limit in (("loop", x.numel()), ("reference", 9 * x.numel())):
        Largest.size = 0
        with ops.backend(name), Largest():
            found = ops.sine_series(x, *sets)
            (slope,) = torch.autograd.grad(found.sum(), x, create_graph=True)
            torch.autograd.grad((slope**2).sum(), (x, *sets))
        assert Largest.size == limit, name


PEAK = """
import sys, torch
from staf import ops
from tests.peak_memory import peak_mebibytes

x = torch.rand(100_000, 16).requires_grad_()
ballast = torch.ones(30_000_000)  # above what importing took
for name in sys.argv[1:]:
    peaks = []
    for terms in (2, 10):
        sets = [torch.rand(terms).requires_grad_() for _ in range(3)]
        with ops.backend(name):
            torch.autograd.grad(ops.sine_series(x, *sets).sum(), (x, *sets))
        peaks.append(peak_mebibytes())
    print(peaks[1] - peaks[0])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads peak memory as Linux reports it")
def test_peak_memory_does_not_grow_with_the_terms():
    # A process's peak only grows, so that what holds least comes first.
    names = [*([] if native.library() is None else ["compiled"]), "loop", "reference"]
    # Every large block is returned to the system when it is freed, so that the peak is what is held at once.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", PEAK, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    grown = dict(zip(names, map(float, done.stdout.split()), strict=True))
    one_tensor = 100_000 * 16 * 4 / 2**20
    assert grown.pop("reference") > 8 * one_tensor
    assert max(grown.values()) < one_tensor / 2, grown


def test_meta_tensors_have_shapes_only():
    sets = [torch.empty(3, device="meta") for _ in range(3)]
    assert ops.sine_series(torch.empty(4, 2, device="meta"), *sets).shape == (4, 2)
