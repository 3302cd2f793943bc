"""The role of each parameter; optimisers and freezing use roles instead of networks."""

from __future__ import annotations

from torch import nn

from staf.nn.encodings import HashGridEncoding
from staf.nn.sine_series import PARTS, SineSeries


def parameter_roles(module: nn.Module) -> dict[str, str]:
    """Map each parameter's name to its role: `matrix`, `amplitude`, `frequency`, `phase`, `table` or `other`.

    `matrix` is a hidden real 2-D weight, which Muon may train. A network with `hidden_matrices()` says
    which these are; in other modules they are the weights of all linear layers except the first and the last. Complex
    weights are `other`. `table` is that of a hash grid.

    >>> from staf.nn import siren
    >>> [name for name, role in parameter_roles(siren(2, 3, width=8)).items() if role == "matrix"]
    ['layers.1.weight', 'layers.2.weight', 'layers.3.weight']
    """
    roles: dict[int, str] = {}
    claimed: set[nn.Module] = set()
    for part in module.modules():
        matrices = getattr(part, "hidden_matrices", None)
        if callable(matrices) and part not in claimed:
            claimed.update(part.modules())
            roles.update({id(weight): "matrix" for weight in matrices()})
    linears = [part for part in module.modules() if isinstance(part, nn.Linear) and part not in claimed]
    roles.update({id(part.weight): "matrix" for part in linears[1:-1]})
    for part in module.modules():
        if isinstance(part, SineSeries):
            roles.update({id(part._parameters[name]): name for name in PARTS if part._parameters.get(name) is not None})
        if isinstance(part, HashGridEncoding):
            roles[id(part.table)] = "table"
    return {
        name: "other" if parameter.is_complex() else roles.get(id(parameter), "other")
        for name, parameter in module.named_parameters()
    }
