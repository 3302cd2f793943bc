"""Which classes of modules have a known formula, and how each adds its steps to a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch import Tensor, nn

from staf.export import graph as g
from staf.export.errors import ExportError

Describe = Callable[[Any, g.Graph, int], int]
_DESCRIBERS: dict[type[nn.Module], Describe] = {}
Function = TypeVar("Function", bound=Describe)


def describes(*classes: type[nn.Module]) -> Callable[[Function], Function]:
    """Register how modules of these classes add their steps to a graph: `f(module, graph, value) -> value`."""

    def register(function: Function) -> Function:
        _DESCRIBERS.update(dict.fromkeys(classes, function))
        return function

    return register


def add_steps(module: nn.Module, graph: g.Graph, value: int) -> int:
    """Add the steps of a module that reads `value`; the value that it makes."""
    for kind in type(module).__mro__:
        if kind in _DESCRIBERS:
            # A subclass that computes something else is another formula.
            if type(module).forward is not kind.forward:  # type: ignore[attr-defined]
                break
            return _DESCRIBERS[kind](module, graph, value)
    known = ", ".join(sorted(kind.__name__ for kind in _DESCRIBERS))
    raise ExportError(f"cannot export {type(module).__name__}: its formula is not known; known are {known}")


def array_of(tensor: Tensor) -> g.Array:
    return tensor.detach().cpu().double().numpy()
