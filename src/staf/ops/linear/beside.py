"""Pieces of GPU work side by side, where a graph is being captured: each alone leaves a GPU half empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch

First = TypeVar("First")
Second = TypeVar("Second")

_streams: dict[int, torch.cuda.Stream] = {}


class Beside(Protocol):
    """`beside(work)` does the work and returns its result, in a branch where there is one."""

    def __call__(self, work: Callable[[], Second]) -> Second: ...


@contextmanager
def branch(fork: bool) -> Iterator[Beside]:
    """Work given to the result of this block is recorded as a branch, with `fork` and while a CUDA graph is captured.

    Each piece begins after all that came before it, and the block's end waits for all pieces. What they read must live
    until then, so that nothing else gets its memory.

    >>> with branch(fork=False) as beside:
    ...     two = beside(lambda: 2)
    >>> two
    2
    """
    if not is_branching(fork):
        yield lambda work: work()
        return
    current = torch.cuda.current_stream()
    other = _streams.setdefault(current.device_index, torch.cuda.Stream(current.device))

    def beside(work: Callable[[], Second]) -> Second:
        other.wait_stream(current)
        with torch.cuda.stream(other):
            return work()

    yield beside
    current.wait_stream(other)


def is_branching(fork: bool) -> bool:
    """Whether `branch(fork)` makes a branch now."""
    return fork and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def side_by_side(first: Callable[[], First], second: Callable[[], Second], *, fork: bool) -> tuple[First, Second]:
    """Both results; the second is a branch where `branch(fork)` makes one, and otherwise comes after the first.

    >>> side_by_side(lambda: 1, lambda: 2, fork=False)
    (1, 2)
    """
    if not is_branching(fork):
        return first(), second()
    with branch(fork) as beside:
        aside = beside(second)
        straight = first()
    return straight, aside
