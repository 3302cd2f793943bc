"""Two pieces of GPU work side by side, where a graph is being captured: each alone leaves a GPU half empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

First = TypeVar("First")
Second = TypeVar("Second")

_streams: dict[int, torch.cuda.Stream] = {}


def side_by_side(first: Callable[[], First], second: Callable[[], Second], *, fork: bool) -> tuple[First, Second]:
    """Both results. With `fork`, and while a CUDA graph is captured, the second is recorded as a branch of its own.

    The branch begins after all that came before and ends before all that comes after, so nothing else changes.

    >>> side_by_side(lambda: 1, lambda: 2, fork=False)
    (1, 2)
    """
    if not (fork and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
        return first(), second()
    current = torch.cuda.current_stream()
    branch = _streams.setdefault(current.device_index, torch.cuda.Stream(current.device))
    branch.wait_stream(current)
    with torch.cuda.stream(branch):
        beside = second()
    straight = first()
    current.wait_stream(branch)
    return straight, beside
