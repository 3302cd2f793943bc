"""What callbacks have found so far, as tensors of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from torch import Tensor

from staf.storage.file import FileError


@runtime_checkable
class Remembering(Protocol):
    """A callback whose findings decide how a fit goes on or ends, so that they belong to its checkpoint."""

    def tensors(self) -> dict[str, Tensor]:
        """All that it has found, at least one tensor."""
        ...

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `tensors` returned; a ValueError or KeyError says that they are not of this callback."""
        ...


def gather(callbacks: Iterable[object]) -> dict[str, Tensor]:
    """The findings of all callbacks that remember, named by their place among these.

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
        for i, callback in enumerate(_remembering(callbacks))
        for name, tensor in callback.tensors().items()
    }


def restore(callbacks: Iterable[object], findings: dict[str, Tensor]) -> None:
    """Give each callback back what it had found; other callbacks than those of the checkpoint are refused."""
    remembering = _remembering(callbacks)
    saved = {name.partition("/")[0] for name in findings}
    if saved != {str(i) for i in range(len(remembering))}:
        raise FileError(
            f"the checkpoint holds what {len(saved)} callbacks have found, and {len(remembering)} that remember were "
            "given: resume with the same ones"
        )
    for i, callback in enumerate(remembering):
        prefix = f"{i}/"
        own = {name.removeprefix(prefix): tensor for name, tensor in findings.items() if name.startswith(prefix)}
        try:
            callback.load_tensors(own)
        except (KeyError, ValueError, OverflowError) as error:
            raise FileError(
                f"the checkpoint was made with another callback than {type(callback).__name__}: {error}"
            ) from None


def _remembering(callbacks: Iterable[object]) -> list[Remembering]:
    return [callback for callback in callbacks if isinstance(callback, Remembering)]
