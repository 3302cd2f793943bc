"""How long the pass after the training takes, estimated before the training, so that the wait can be announced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from staf.signals.base import Signal

# Fewer points are never worth a measurement, and shorter waits not worth a word.
MANY_POINTS = 2**18
LONG_SECONDS = 10.0
TRIED = 2**14


def finish_note(signal: Signal, field: nn.Module, device: str) -> str | None:
    """What to tell before a fit whose measuring takes long after the training, with the time that it takes here."""
    from staf.training.progress import duration

    work, points = signal.view.finish_work()
    # Networks that read their signal while they are trained cannot be tried before.
    if points < MANY_POINTS or hasattr(field, "bind"):
        return None
    seconds = points * seconds_per_point(field, signal.in_features, device)
    if seconds < LONG_SECONDS:
        return None
    return (
        f"after the training {work}, to measure and to write them: about {duration(seconds)} on this machine, "
        "not counted in --seconds"
    )


def seconds_per_point(field: nn.Module, in_features: int, device: Any, points: int = TRIED) -> float:
    """The time that a field takes for each of many points, from a second pass over some.

    >>> from staf.nn import siren
    >>> 0 < seconds_per_point(siren(2, 3, width=8, depth=2), 2, "cpu", points=64) < 1
    True
    """
    import torch

    from staf.training.prediction import predictor

    where = 2 * torch.rand(points, in_features, generator=torch.Generator().manual_seed(0)) - 1
    predict, where = predictor(field.to(device), points), where.to(device)
    predict(where).cpu()
    began = time.perf_counter()
    # The copy waits for the device.
    predict(where).cpu()
    return (time.perf_counter() - began) / points
