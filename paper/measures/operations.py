"""How many operations a network takes for one point, its activations included.

Counters that look at matrix products alone say that five sinusoids cost as much as one. Here every elementwise
operation counts as one for each number it makes (a sine or an exponential too), a sum as one for each number it adds,
and a complex operation as the real ones it stands for.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

# Real operations of one complex one: (a + ib)(c + id) takes four products and two sums.
COMPLEX = {"mul": 6, "add": 2, "sub": 2, "exp": 4, "abs": 4, "addcmul": 8}
SUMS = ("sum", "mean")
ELEMENTWISE = (
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "sin", "cos", "exp", "tanh", "sigmoid", "relu", "square", "pow",
    "sqrt", "rsqrt", "reciprocal", "silu", "maximum", "minimum", "clamp", "log", "gt", "where",
)  # fmt: skip
# A product and a sum at once.
FUSED = {"addcmul": 2, "addcdiv": 2}


@dataclass
class Operations:
    """`products` are those of matrix products and convolutions, two for a multiplication and its sum."""

    products: int = 0
    elementwise: int = 0
    by_name: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.products + self.elementwise


class _Elementwise(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        if isinstance(out, Tensor):
            if name in SUMS:
                self.found[name] += args[0].numel() * (2 if args[0].is_complex() else 1)
            elif name in ELEMENTWISE or name in FUSED:
                given = any(isinstance(arg, Tensor) and arg.is_complex() for arg in args)
                each = COMPLEX.get(name, 2) if given else FUSED.get(name, 1)
                self.found[name] += each * out.numel()
        return out


def operations(network: nn.Module, inputs: int) -> Operations:
    """The operations of one forward pass of one point of `inputs` coordinates.

    >>> from staf.nn import siren, staf
    >>> operations(siren(2, 3), 2).products
    395776
    >>> operations(staf(2, 3), 2).elementwise > operations(siren(2, 3), 2).elementwise
    True
    """
    from staf.ops import backend

    parameter = next(network.parameters())
    point = torch.zeros(1, inputs, device=parameter.device, dtype=parameter.real.dtype)
    products, elementwise = FlopCounterMode(display=False), _Elementwise()
    with torch.no_grad(), backend("reference"), products, elementwise:
        network(point)
    # A complex product and its sum are eight real operations where a real one has two.
    each = 4 if any(p.is_complex() for p in network.parameters()) else 1
    by_name = dict(elementwise.found)
    # The first layer is a product too, computed coordinate by coordinate.
    counted = each * int(products.get_total_flops()) + by_name.pop("addcmul", 0)
    return Operations(counted, sum(by_name.values()), by_name)


def operations_of(module: Any) -> dict[str, int]:
    """Operations of one point by name: matrix products, and everything elementwise; of INCODE the field alone.

    >>> from staf.nn import siren
    >>> operations_of(siren(2, 3))["products"]
    395776
    """
    alone = copy.deepcopy(module.baked() if hasattr(module, "baked") else module).cpu()
    counted = operations(alone, module.in_features)
    return {"products": counted.products, "elementwise": counted.elementwise}
