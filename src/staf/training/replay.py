"""A network's pass as a CUDA graph: the host starts one graph instead of a kernel for each layer.

A pass over few points, or a short one over many, takes as long as the host needs to launch its kernels. A pass that is
asked for again, by the same network and for as many points, is therefore recorded and replayed. The weights are read
where they lie, so changes in place are seen; everything else that the pass depends on is part of the key under which a
recording is found.
"""

from __future__ import annotations

import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from staf.ops.backend import forced_backend, is_recorded, reverse_mode_only
from staf.ops.linear import current_precision

# Beyond the most points the GPU is busy for longer than the host.
FEW_POINTS, MOST_POINTS = 2**14, 2**18
# Passes of one kind before the recorded one, over few points and over many, of which a pass loses less to the host; and
# how many recordings are kept for a network.
BEFORE, BEFORE_MANY, KEPT = 2, 32, 4
# What a recording over many points may keep, and all of a network together: 262,144 points through layers of 256 in
# float16 keep 266 MiB. It may be no more than one part in this many of the free memory.
MOST_BYTES, FREE_PARTS = 320 * 2**20, 8
# Only of these is it known that a pass does nothing but compute: recording runs no Python of later passes.
KNOWN = ("staf.nn.", "torch.nn.modules.")
# Attributes that can be compared, and those whose content can change unseen.
PLAIN = (int, float, complex, str, np.generic)
ARRAYS = (Tensor, np.ndarray)

_replays: WeakKeyDictionary[nn.Module, Replays] = WeakKeyDictionary()
_replays_lock = threading.Lock()


def replayed(module: nn.Module, coordinates: Tensor) -> Tensor:
    """`module(coordinates)` without gradients: recorded when asked for again, and replayed from then on.

    Recorded are the library's and torch's own modules without hooks, on CUDA, in the main thread, outside autocast,
    `torch.func`, `torch.compile` and other recordings: up to 16,384 points at the third pass, up to 262,144 points at
    the 33rd, if the recording keeps at most 320 MiB and an eighth of the free memory. All else, and what cannot be
    recorded, simply runs.
    """
    key = _key(module, coordinates) if coordinates.is_cuda and 0 < len(coordinates) <= MOST_POINTS else None
    if key is None:
        return module(coordinates)
    replays = _replays.get(module)
    if replays is None:
        with _replays_lock:
            replays = _replays.setdefault(module, Replays())
    return replays(key, module, coordinates)


def parts_of(module: nn.Module) -> Iterator[nn.Module]:
    """The module and all within it; what is used twice comes twice. Faster than `module.modules()`.

    >>> [type(part).__name__ for part in parts_of(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))]
    ['Sequential', 'ReLU', 'Linear']
    """
    left: list[nn.Module | None] = [module]
    while left:
        part = left.pop()
        if part is not None:
            yield part
            left.extend(part._modules.values())


class Replays:
    """The recordings of one network, the latest used ones first to stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: OrderedDict[Hashable, float] = OrderedDict()
        self._recordings: OrderedDict[Hashable, Recording] = OrderedDict()
        self._refused = False

    def __call__(self, key: Hashable, module: nn.Module, coordinates: Tensor) -> Tensor:
        """The values, replayed where there is a recording for `key`."""
        # The lock also keeps another thread's points out of a recording's memory until its values are copied.
        with self._lock:
            recording = self._recordings.get(key)
            if recording is None and self._is_due(key, len(coordinates)):
                recording = self._record(key, module, coordinates)
            if recording is not None:
                self._recordings.move_to_end(key)
                return recording(coordinates)
        values = module(coordinates)
        with self._lock:
            self._count(key)
        return values

    def _is_due(self, key: Hashable, points: int) -> bool:
        # While one thread records, another that waits for the whole device would fail: workers only replay.
        in_main = threading.current_thread() is threading.main_thread()
        return in_main and not self._refused and self._calls.get(key, 0) >= passes_before(points)

    def _count(self, key: Hashable) -> None:
        """Remember a pass that has gone well, and forget the kinds that were not asked for lately."""
        self._calls[key] = self._calls.pop(key, 0) + 1
        if len(self._calls) > 8 * KEPT:
            self._calls.popitem(last=False)

    def _record(self, key: Hashable, module: nn.Module, coordinates: Tensor) -> Recording | None:
        try:
            recording = Recording(module, coordinates)
        except TooLarge:
            self._calls[key] = -math.inf
            return None
        except RuntimeError:
            torch.cuda.synchronize(coordinates.device)
            self._refused = True
            return None
        del self._calls[key]
        self._recordings[key] = recording
        while len(self._recordings) > KEPT or (len(self._recordings) > 1 and self._kept_bytes() > MOST_BYTES):
            self._recordings.popitem(last=False)
        return recording

    def _kept_bytes(self) -> int:
        return sum(recording.bytes for recording in self._recordings.values())


class TooLarge(RuntimeError):
    """A recording would keep too much memory."""


class Recording:
    """One pass over a fixed number of points, with memory of its own for them and for the values: `bytes` at most."""

    def __init__(self, module: nn.Module, coordinates: Tensor) -> None:
        # Memory made in inference mode could not be written outside of it.
        with torch.cuda.device(coordinates.device), torch.inference_mode(False), torch.no_grad():
            self._coordinates = torch.empty_like(coordinates, memory_format=torch.contiguous_format)
            self._coordinates.copy_(coordinates)
            before = _allocated(coordinates.device)
            # Kernels are compiled for addresses as aligned as these before anything is recorded.
            module(self._coordinates)
            self.bytes = _allocated(coordinates.device) - before + coordinates.numel() * coordinates.element_size()
            if len(coordinates) > FEW_POINTS and not _is_modest(self.bytes, coordinates.device):
                raise TooLarge(f"a recording of {len(coordinates):,} points would keep {self.bytes:,} bytes")
            self._graph = torch.cuda.CUDAGraph()
            stream = recording_stream(coordinates.device)
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                self._values = module(self._coordinates)

    def __call__(self, coordinates: Tensor) -> Tensor:
        self._coordinates.copy_(coordinates)
        self._graph.replay()
        return self._values.clone()


def passes_before(points: int) -> int:
    """How many passes over so many points run before one is recorded.

    >>> passes_before(1_000), passes_before(200_000)
    (2, 32)
    """
    return BEFORE if points <= FEW_POINTS else BEFORE_MANY


def _allocated(device: torch.device) -> int:
    """All bytes that were ever allocated; what a pass adds is no less than a recording of it keeps."""
    return int(torch.cuda.memory_stats(device).get("allocated_bytes.all.allocated", 0)) if device.type == "cuda" else 0


def _is_modest(size: int, device: torch.device) -> bool:
    """Whether a recording may keep so many bytes."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return size <= min(MOST_BYTES, (torch.cuda.mem_get_info(device)[0] + unused) // FREE_PARTS)


@functools.cache
def recording_stream(device: torch.device) -> torch.cuda.Stream:
    """A stream of this GPU to record on: torch's own belongs to whichever GPU the process recorded on first."""
    return torch.cuda.Stream(device)


def _key(module: nn.Module, coordinates: Tensor) -> Hashable | None:
    """All that a pass depends on besides the numbers in memory; None where a pass must run as it is."""
    disturbed = (
        type(coordinates) is not Tensor
        or not reverse_mode_only()
        or torch.compiler.is_compiling()
        or torch.is_autocast_enabled("cuda")
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.cuda.is_current_stream_capturing()
        or is_recorded()
        or _has_any_global_hook()
    )
    state = None if disturbed else network_state(module, coordinates.device)
    if state is None:
        return None
    stream = torch.cuda.current_stream(coordinates.device).cuda_stream
    # `torch.get_float32_matmul_precision` raises where this was set directly.
    library_tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    chosen = (current_precision(), forced_backend(), library_tf32)
    return (coordinates.shape, coordinates.dtype, coordinates.device, stream, chosen, state)


def network_state(module: nn.Module, device: torch.device) -> Hashable | None:
    """Types and plain attributes of all parts, and where their tensors lie; None if unknown or not all on `device`.

    >>> layer, cpu = nn.Linear(2, 2), torch.device("cpu")
    >>> before = network_state(layer, cpu)
    >>> before == network_state(layer.requires_grad_(False), cpu)
    True
    >>> layer.weight.data = layer.weight.data.clone()
    >>> before == network_state(layer, cpu)
    False
    """
    state: list[object] = []
    for part in parts_of(module):
        kind, attributes = type(part), part.__dict__
        if not kind.__module__.startswith(KNOWN) or part._forward_hooks or part._forward_pre_hooks:
            return None
        if "forward" in attributes or part._compiled_call_impl is not None:
            return None
        state.append(kind)
        for value in attributes.values():
            if isinstance(value, PLAIN):
                state.append(value)
            elif isinstance(value, ARRAYS):
                return None
        for tensor in (*part._parameters.values(), *part._buffers.values()):
            if tensor is None:
                continue
            if tensor.device != device:
                return None
            state.append((tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype))
    return tuple(state)
