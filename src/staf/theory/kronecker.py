"""The Kronecker equivalent: every network of sine series is a wider network of plain sines with structured weights.

For layers l = 1..H with tau_l terms and a linear output (W_{H+1}, B_{H+1}):

    Wbar_1     = Omega_1 (x) W_1
    Wbar_l     = (Omega_l C_{l-1}^T) (x) W_l           2 <= l <= H
    Bbar_l     = Omega_l (x) B_l + Phi_l (x) 1         1 <= l <= H
    Wbar_{H+1} = C_H^T (x) W_{H+1},   Bbar_{H+1} = B_{H+1}

Same depth, every H, biases kept. The invariant is z_l = (C_l^T (x) I) zbar_l; the mixed-product rule does the rest.
An activated output needs one further linear layer, C_H^T (x) I. With per-neuron parameters, Omega (x) W becomes
S_Omega W, where S_Omega stacks diag(Omega[:, m]) over the terms m; blocks are in the same order, entry (m - 1) F + j.

A skip z = rho(a) + a adds a linear path, and no network of sines has one: sines are bounded, a is not. It is refused
unless `linear_units=True`, which carries a in F extra units of that layer that apply no sine; the result is then exact
but no longer a plain sine network.

>>> from staf.nn import CoordinateMLP, SineSeries
>>> field = CoordinateMLP(2, 3, width=8, depth=2, activation=lambda: SineSeries(3, 2.0), dtype=torch.float64)
>>> plain = kronecker_equivalent(field)
>>> x = torch.rand(50, 2, dtype=torch.float64)
>>> torch.allclose(plain(x), field(x), rtol=0, atol=1e-12)
True
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from staf._typing import Float
from staf.nn import CoordinateMLP
from staf.theory.layers import Layer, Network, read_network


class PlainSineNetwork(nn.Module):
    """z = sin(omega0 (W z + B)) layer by layer, then a linear output; the last `linear_units[l]` units pass through.

    Args:
        matrices: (weight, bias) of each layer, the output last.
        linear_units: how many units of each sine layer are the identity instead of the sine (0 for a plain network).
        omega0: the fixed factor inside the sine.
        encoding: a module applied to the coordinates first.
    """

    def __init__(
        self,
        matrices: Sequence[tuple[Tensor, Tensor]],
        linear_units: Sequence[int],
        *,
        omega0: float = 1.0,
        encoding: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if len(linear_units) != len(matrices) - 1:
            raise ValueError(
                f"linear_units must have {len(matrices) - 1} entries, one a layer, got {len(linear_units)}"
            )
        self.layers = nn.ModuleList(_module(weight, bias) for weight, bias in matrices[:-1])
        self.output = _module(*matrices[-1])
        self.linear_units = tuple(linear_units)
        self.omega0 = float(omega0)
        self.encoding = encoding

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        z = coordinates if self.encoding is None else self.encoding(coordinates)
        for layer, linear in zip(self.layers, self.linear_units, strict=True):
            a = layer(z)
            sines = a.shape[-1] - linear
            z = torch.cat([torch.sin(self.omega0 * a[..., :sines]), a[..., sines:]], -1)
        return self.output(z)

    def to_siren(self) -> CoordinateMLP:
        """The same function as the library's own SIREN, which can be saved and rebuilt; all widths must be equal.

        >>> from staf.nn import siren
        >>> field = siren(2, 1, width=4, depth=2, omega0=3, hidden_omega0=2)
        >>> type(kronecker_equivalent(field).to_siren()).__name__
        'CoordinateMLP'
        """
        widths = [layer.out_features for layer in self.layers]  # type: ignore[union-attr]
        if any(self.linear_units) or len(set(widths)) > 1 or self.encoding is not None:
            raise ValueError(
                "a SIREN has equal widths, no linear units and no encoding; got widths "
                f"{widths}, linear units {list(self.linear_units)}, encoding {self.encoding!r}"
            )
        from staf.nn import siren

        weight = self.output.weight
        field = siren(
            self.layers[0].in_features,  # type: ignore[arg-type]
            self.output.out_features,
            width=widths[0],  # type: ignore[arg-type]
            depth=len(widths),
            omega0=self.omega0,
            hidden_omega0=self.omega0,
        ).to(device=weight.device, dtype=weight.dtype)
        with torch.no_grad():
            for ours, theirs in zip([*self.layers, self.output], [*field.layers, field.output], strict=True):
                theirs.weight.copy_(ours.weight)  # type: ignore[operator, union-attr]
                theirs.bias.copy_(ours.bias)  # type: ignore[operator, union-attr]
        return field


def kronecker_equivalent(field: nn.Module, *, omega0: float = 1.0, linear_units: bool = False) -> PlainSineNetwork:
    """The plain sine network equal to `field`, in `field`'s own dtype and device.

    Args:
        field: a `CoordinateMLP` or `Sequential` of sine-series (or sine) layers; any depth, sharing and output.
        omega0: factor inside the equivalent's sines, finite and not 0 in `field`'s dtype; weights are divided by it.
        linear_units: allow identity units, which skips need.

    Equality is to rounding: about 4e-15 in float64 at frequencies up to 3, ten times more per layer at frequencies near
    30. In float32 at such frequencies the two diverge as any two roundings of the field would.
    """
    network = read_network(field)
    reference = next(field.parameters())
    factor = float(torch.tensor(omega0, dtype=reference.dtype))
    if not math.isfinite(factor) or factor == 0:
        raise ValueError(f"omega0 must be finite and not 0 in {reference.dtype}, the dtype of field; got {omega0}")
    if any(network.skips) and not linear_units:
        raise ValueError(
            f"field has skips (z = rho(a) + a) at layers {[i for i, s in enumerate(network.skips) if s]}: a is "
            "unbounded and sines are not, so no plain sine network equals it; pass linear_units=True to carry "
            "a in identity units"
        )
    matrices = equivalent_matrices(network)
    widths = [len(layer.bias) for layer in network.layers]
    identity = [width if skip else 0 for width, skip in zip(widths, network.skips, strict=True)]
    scaled = [_divide(pair, omega0, units) for pair, units in zip(matrices[:-1], identity, strict=True)]
    plain = PlainSineNetwork([*scaled, matrices[-1]], identity, omega0=omega0, encoding=network.encoding)
    plain = plain.to(device=reference.device, dtype=reference.dtype)
    for name, parameter in plain.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise ValueError(
                f"{name} of the equivalent is not finite in {reference.dtype}: field must have finite parameters, and "
                "products Omega C W must fit its dtype; convert it with field.double() first, or give another omega0"
            )
    return plain


def equivalent_matrices(network: Network) -> list[tuple[Tensor, Tensor]]:
    """(Wbar_l, Bbar_l) for each layer and the output, float64, for omega0 = 1."""
    matrices = []
    previous: tuple[Layer, bool] | None = None
    for layer, skip in zip(network.layers, network.skips, strict=True):
        inner = layer.weight if previous is None else _after(layer.weight, *previous)
        weight = _spread(layer.frequency, inner)
        bias = (layer.frequency * layer.bias[:, None] + layer.phase).T.reshape(-1)
        if skip:
            weight, bias = torch.cat([weight, inner]), torch.cat([bias, layer.bias])
        matrices.append((weight, bias))
        previous = (layer, skip)
    last, skip = network.layers[-1], network.skips[-1]
    width = len(last.bias)
    output = network.output or (torch.eye(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64))
    return [*matrices, (_after(output[0], last, skip), output[1])]


def equivalent_parameters(field: nn.Module) -> int:
    """How many parameters the equivalent has, without building it.

    >>> from staf.nn import CoordinateMLP, SineSeries
    >>> equivalent_parameters(CoordinateMLP(2, 3, width=256, depth=4, activation=SineSeries))
    4926723
    """
    network = read_network(field)
    sizes = [network.layers[0].weight.shape[1]]
    for layer, skip in zip(network.layers, network.skips, strict=True):
        sizes.append(layer.frequency.numel() + (len(layer.bias) if skip else 0))
    sizes.append(len(network.output[1]) if network.output else len(network.layers[-1].bias))
    return sum(after * (before + 1) for before, after in itertools.pairwise(sizes))


def _spread(frequency: Tensor, inner: Tensor) -> Tensor:
    """S_Omega inner: row (m - 1) F + j is Omega[j, m] inner[j]."""
    return (frequency.T[:, :, None] * inner).reshape(-1, inner.shape[1])


def _after(weight: Tensor, layer: Layer, skip: bool) -> Tensor:
    """weight S_C^T, with the identity units of a skip appended: what reads `layer`'s units."""
    read = (weight[:, None, :] * layer.amplitude.T).reshape(len(weight), -1)
    return torch.cat([read, weight], 1) if skip else read


def _divide(pair: tuple[Tensor, Tensor], omega0: float, identity: int) -> tuple[Tensor, Tensor]:
    factor = torch.ones_like(pair[1])
    factor[: len(factor) - identity] /= omega0
    return factor[:, None] * pair[0], factor * pair[1]


def _module(weight: Tensor, bias: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    linear.weight, linear.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
    return linear
