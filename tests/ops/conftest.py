"""Inputs for the contract tests of the operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from staf.ops import native

Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


@pytest.fixture
def inputs() -> Callable[..., Inputs]:
    """A factory of (x, amplitude, frequency, phase) with the given shapes."""

    def make(
        x_shape: tuple[int, ...],
        set_shape: tuple[int, ...],
        dtype: torch.dtype = torch.float64,
        frequency: float = 3.0,
        requires_grad: bool = False,
        seed: int = 0,
    ) -> Inputs:
        generator = torch.Generator().manual_seed(seed)

        def normal(shape: tuple[int, ...]) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float32).to(dtype)

        made = (normal(x_shape), normal(set_shape), frequency * normal(set_shape), normal(set_shape))
        return tuple(tensor.requires_grad_(requires_grad) for tensor in made)  # type: ignore[return-value]

    return make


@pytest.fixture(params=["loop", "compiled"])
def cpu_backend(request: pytest.FixtureRequest) -> str:
    """Each CPU implementation that is not the formula itself."""
    if request.param == "compiled" and native.library() is None:
        pytest.skip("no C compiler here")
    return request.param


@pytest.fixture
def poisoned() -> Iterator[None]:
    """Fresh memory holds NaN, so that a kernel that forgets to write an element is seen."""
    before = torch.are_deterministic_algorithms_enabled()
    filling = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        assert torch.empty(3).isnan().all()
        yield
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = filling
        torch.use_deterministic_algorithms(before)
