from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def assert_captured_equals_plain(step: Callable[[], tuple[Tensor, ...]], replays: int = 3) -> None:
    """A CUDA graph of `step` gives the bits of a plain call, at every replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        expected = step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(replays):
        graph.replay()
        torch.cuda.synchronize()
        assert all(torch.equal(a, b) for a, b in zip(captured, expected, strict=True))
