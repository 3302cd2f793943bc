"""Whether modules have hooks: a network with hooks may not be computed as one operation."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.module import _has_any_global_hook


def has_hooks(*modules: nn.Module) -> bool:
    """Whether calling one of these runs more than the `forward` of its class.

    >>> layer = nn.Linear(2, 2)
    >>> before = has_hooks(layer)
    >>> handle = layer.register_forward_hook(lambda *_: None)
    >>> before, has_hooks(layer)
    (False, True)
    """
    return _has_any_global_hook() or any(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or "forward" in module.__dict__
        for module in modules
    )
