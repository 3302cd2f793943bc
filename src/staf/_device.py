"""The device of a fit: the one asked for, if this machine has it."""

from __future__ import annotations

import torch


def choose_device(device: torch.device | str | None) -> torch.device:
    """The device asked for, or the GPU where there is one."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {str(device)!r}") from None
    if chosen.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', got {str(device)!r}; leave it out for the CPU")
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {str(device)!r} was asked for, but CUDA is not available; leave it out for the CPU")
    if chosen.type == "cuda" and chosen.index is not None and chosen.index >= torch.cuda.device_count():
        raise ValueError(f"device {str(device)!r} was asked for, and this machine has {torch.cuda.device_count()} GPUs")
    return chosen
