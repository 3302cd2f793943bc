"""What a fitted network costs: seconds of one pass over all points, and the most memory that its training took."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

# Points that are timed at most; of more points, that many are timed and the seconds scaled.
MOST_TIMED = 2**20
PASSES = 5


def inference_seconds(module: nn.Module, points: int) -> float:
    """Seconds of one pass over `points` points that lie on the module's device: the median of five, after two others.

    INCODE is timed as it is saved, without the reader of its target.

    >>> from staf.nn import siren
    >>> inference_seconds(siren(2, 1, width=4, depth=2), 100) > 0
    True
    """
    import torch

    from staf.training import predictor

    where = next(module.parameters()).device
    network: Any = module
    alone = (network.baked() if hasattr(network, "baked") else network).to(where)
    timed = min(points, MOST_TIMED)
    generator = torch.Generator().manual_seed(0)
    coordinates = (2 * torch.rand(timed, int(alone.in_features), generator=generator) - 1).to(where)
    predict, took = predictor(alone, 2**18), []
    # The first pass compiles, and the second may record what later ones replay.
    for _ in range(2 + PASSES):
        _wait(where)
        started = time.perf_counter()
        predict(coordinates)
        _wait(where)
        took.append(time.perf_counter() - started)
    return float(f"{statistics.median(took[2:]) * points / timed:.4g}")


def forget_peak(device: str) -> None:
    """Count the peak of a GPU's memory from now on."""
    if device.startswith("cuda"):
        import torch

        # A process that has not used the GPU yet has nothing to reset, and torch says so with an error.
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: str) -> int | None:
    """Bytes that this process had allocated at most on a GPU since `forget_peak`; None on a CPU."""
    if not device.startswith("cuda"):
        return None
    import torch

    return int(torch.cuda.max_memory_allocated(device))


def _wait(device: Any) -> None:
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)
