"""The state of callbacks, as tensors of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from torch import Tensor

from staf.storage.header import FileError


@runtime_checkable
class Stateful(Protocol):
    """A callback whose state is saved in checkpoints, because it decides how a fit continues or ends."""

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, at least one tensor."""
        ...

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned; a ValueError or KeyError means that they are from another callback."""
        ...


def gather(callbacks: Iterable[object]) -> dict[str, Tensor]:
    """The state of all callbacks that have one, named by their position.

    >>> import torch
    >>> class Count:
    ...     seen = 3
    ...     def tensors(self):
    ...         return {"seen": torch.tensor(self.seen)}
    ...     def load_tensors(self, tensors):
    ...         self.seen = int(tensors["seen"])
    >>> gather([print, Count()])
    {'0/seen': tensor(3)}
    """
    return {
        f"{i}/{name}": tensor
        for i, callback in enumerate(_stateful(callbacks))
        for name, tensor in callback.tensors().items()
    }


def restore(callbacks: Iterable[object], state: dict[str, Tensor]) -> None:
    """Give each callback its saved state; the callbacks must be those of the checkpoint."""
    stateful = _stateful(callbacks)
    saved = {name.partition("/")[0] for name in state}
    if saved != {str(i) for i in range(len(stateful))}:
        raise FileError(
            f"the checkpoint holds the state of {len(saved)} callbacks, and {len(stateful)} callbacks with a state "
            "were given: resume with the same ones"
        )
    for i, callback in enumerate(stateful):
        prefix = f"{i}/"
        own = {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
        try:
            callback.load_tensors(own)
        except (KeyError, ValueError, OverflowError) as error:
            raise FileError(
                f"the checkpoint was made with another callback than {type(callback).__name__}: {error}"
            ) from None


def _stateful(callbacks: Iterable[object]) -> list[Stateful]:
    return [callback for callback in callbacks if isinstance(callback, Stateful)]
