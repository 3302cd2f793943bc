"""Which implementation of an operation runs: chosen by device and dtype, or forced with `staf.backend`.

| name | what it is | where |
|---|---|---|
| `reference` | the formula, differentiated by torch | everywhere |
| `loop` | one term at a time, own derivatives, no large temporary | everywhere |
| `compiled` | a small C kernel, built once with the system's compiler | CPU, float32 |
| `triton` | fused GPU kernels | CUDA, float32 |

`reference` holds for every operation. `linear`, `sine_layer` and `squared_error` have no loop, and kernels that lack
forward mode: those run inside an `Execution` only, and the formula runs everywhere else.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

NAMES = ("reference", "loop", "compiled", "triton")

_PLAIN = (Tensor, torch.nn.Parameter)
_forced: ContextVar[str | None] = ContextVar("staf_backend", default=None)
# Whether the caller promises to ask for no forward mode, so that kernels without it may run; `Execution` says so.
reverse_mode_promised: ContextVar[bool] = ContextVar("staf_reverse_mode_promised", default=False)
_recorders: list[list[tuple[str, str]]] = []
_recorders_lock = threading.Lock()


@contextlib.contextmanager
def backend(name: str) -> Iterator[None]:
    """Force one implementation of every operation inside the `with` block, also for the backward passes.

    Inside `torch.compile`, the loop over the terms is always traced.

    >>> import torch, staf.ops as ops
    >>> with ops.backend("reference"):
    ...     y = ops.sine(torch.zeros(3), 30.0)
    >>> y.tolist()
    [0.0, 0.0, 0.0]
    """
    if name not in NAMES:
        raise ValueError(f"backend must be one of {', '.join(NAMES)}, got {name!r}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


@contextlib.contextmanager
def record_backends() -> Iterator[list[tuple[str, str]]]:
    """Collect `(operation, backend)` for every kernel that runs inside the block, in all threads.

    >>> import torch, staf.ops as ops
    >>> with ops.record_backends() as ran, ops.backend("loop"):
    ...     _ = ops.sine(torch.zeros(3), 30.0)
    >>> ran
    [('sine', 'loop')]
    """
    ran: list[tuple[str, str]] = []
    with _recorders_lock:
        _recorders.append(ran)
    try:
        yield ran
    finally:
        with _recorders_lock:
            _recorders[:] = [other for other in _recorders if other is not ran]


def note(operation: str, name: str) -> None:
    """Tell the open recorders that `operation` ran on the backend `name`."""
    for ran in _recorders:
        ran.append((operation, name))


def is_recorded() -> bool:
    """Whether someone collects the names of kernels that run."""
    return bool(_recorders)


def forced_backend() -> str | None:
    """The implementation that a `backend` block asks for."""
    return _forced.get()


def fused_allowed() -> bool:
    """Whether kernels without forward mode may run: inside an `Execution`, unless a backend without kernels is forced.

    >>> fused_allowed()
    False
    """
    return reverse_mode_promised.get() and _forced.get() not in ("reference", "loop")


def have_memory(tensors: Sequence[Tensor]) -> bool:
    """Whether a kernel may read these tensors by address.

    Not so for tensor subclasses that stand for something else (fake tensors while tracing), nor for the wrappers that
    `torch.autograd.grad(..., is_grads_batched=True)` hands to a Function without asking its vmap rule.
    """
    for tensor in tensors:
        if type(tensor) not in _PLAIN or torch._C._functorch.is_legacy_batchedtensor(tensor):
            return False
    return True


def is_traced() -> bool:
    """Whether torch.compile, torch.export or torch.jit.trace follows the calls: kernels are invisible to them."""
    return torch.compiler.is_compiling() or torch._C._is_tracing()


def reverse_mode_only() -> bool:
    """Whether neither `torch.func` nor forward mode is at work, so that derivatives can only be asked backwards."""
    return not torch._C._are_functorch_transforms_active() and forward_ad._current_level < 0


def values_only(*tensors: Tensor) -> bool:
    """Whether no derivative of any kind can be asked of a call, so that it may skip autograd's bookkeeping."""
    if not reverse_mode_only():
        return False
    return not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors)


def choose(operation: str, x: Tensor) -> str:
    """The backend for the input `x`: the forced one, or the fastest that takes its device and dtype."""
    forced = _forced.get()
    if forced is None:
        return _fastest(x)
    if forced == "compiled":
        if x.device.type != "cpu" or x.dtype != torch.float32:
            raise ValueError(f"backend 'compiled' of {operation} takes float32 on cpu, got {x.dtype} on {x.device}")
        from staf.ops import native

        native.library(required=True)
    if forced == "triton":
        if x.device.type != "cuda" or x.dtype != torch.float32:
            raise ValueError(f"backend 'triton' of {operation} takes float32 on cuda, got {x.dtype} on {x.device}")
        if not has_triton():
            raise RuntimeError("backend 'triton' was forced, but the package triton is not installed")
    return forced


def has_triton() -> bool:
    """Whether the triton package can be imported; it is not imported here."""
    return importlib.util.find_spec("triton") is not None


def _fastest(x: Tensor) -> str:
    if x.dtype != torch.float32 or x.numel() == 0:
        return "loop"
    if x.is_cpu:
        from staf.ops import native

        return "compiled" if native.library() is not None else "loop"
    return "triton" if x.is_cuda and has_triton() else "loop"
