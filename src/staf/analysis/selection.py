"""Which parameters a kernel is taken over, chosen by role."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn

from staf.nn import parameter_roles

ROLES = ("matrix", "amplitude", "frequency", "phase", "table", "other")
GROUPS = {
    "all": ROLES,
    "weights": ("matrix", "table", "other"),
    "activations": ("amplitude", "frequency", "phase"),
}


def module_of(field: nn.Module) -> nn.Module:
    """The network of a fitted field, or the network itself."""
    # A fitted field is a module around its network.
    module = field.module if hasattr(field, "metadata") and hasattr(field, "module") else field
    if not isinstance(module, nn.Module):
        raise TypeError(f"field must be an nn.Module or a FittedField, got {type(field).__name__}")
    return module


def selected_parameters(field: nn.Module, roles: str | Collection[str] = "all") -> dict[str, nn.Parameter]:
    """The trained parameters that play the given roles, by name.

    `roles` is a group (`all`; `activations`: C, Omega and Phi; `weights`: matrices, biases, tables of hash grids and
    all others) or a collection of role names of `staf.nn.parameter_roles`. Parameters that do not require a
    gradient are left out, since training does not move them.

    >>> from staf.nn import staf
    >>> field = staf(2, 1, width=8, depth=2)
    >>> len(selected_parameters(field)), len(selected_parameters(field, "activations"))
    (12, 6)
    """
    wanted = GROUPS.get(roles) if isinstance(roles, str) else tuple(roles)
    if wanted is None or not set(wanted) <= set(ROLES):
        raise ValueError(
            f"roles must be one of {', '.join(GROUPS)}, or a collection of {', '.join(ROLES)}; got {roles!r}"
        )
    role_of = parameter_roles(field)
    chosen = {
        name: parameter
        for name, parameter in field.named_parameters()
        if parameter.requires_grad and role_of[name] in wanted
    }
    if not chosen:
        raise ValueError(f"the field has no trained parameter of roles {roles!r}")
    return chosen
