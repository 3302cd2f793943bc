"""What a field's coordinates and values mean, told to programs that do not have staf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from staf.kinds import from_metadata
from staf.signals.value_transform import IDENTITY, ValueTransform, value_transform

# Sentences and profiles are of no use to another program, and may say more than their writer wants to share.
PRIVATE = ("notes", "profile", "content", "source")


class Exportable(Protocol):
    """A `FittedField`: a network, and what its file says of it."""

    @property
    def module(self) -> nn.Module: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Meaning:
    """Coordinates of a grid of `shape` lie in [-1, 1] by `convention`; value = offset + scale * output of the network.

    `low` and `high` are the range of the values; `signal` is what the file says of the signal, without notes; `units`
    are how many of the signal's own units (pixels, seconds) one unit of each coordinate spans.
    """

    kind: str
    name: str
    convention: str
    transform: ValueTransform
    signal: dict[str, Any]
    shape: tuple[int, ...] | None = None
    units: tuple[float, ...] | None = None

    @property
    def low(self) -> float:
        return float(self.transform.offset + self.transform.scale * self.transform.low)

    @property
    def high(self) -> float:
        return float(self.transform.offset + self.transform.scale * self.transform.high)

    def sentences(self, inputs: int, outputs: int) -> list[str]:
        """The meaning in words, for the head of a source file."""
        axes = ", ".join(f"axis {k}" for k in range(inputs)) if inputs > 1 else "the axis"
        if self.kind == "image":
            axes = "row (from the top), column (from the left)"
        placed = {
            "centres": "sample i of n lies at (2 i + 1) / n - 1",
            "ends": "sample i of n lies at 2 i / (n - 1) - 1",
        }
        size = f" of {' x '.join(map(str, self.shape))} samples" if self.shape else ""
        return [
            f"{inputs} coordinate{'s' if inputs > 1 else ''} in [-1, 1]: {axes}; {placed[self.convention]}.",
            f"{outputs} value{'s' if outputs > 1 else ''}, in [{self.low:g}, {self.high:g}] after clamping.",
            f"Fitted to: {self.kind}{size}.",
        ]

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "kind": self.kind,
            "name": self.name,
            "convention": self.convention,
            "value_offset": self.transform.offset,
            "value_scale": self.transform.scale,
            "value_range": [self.low, self.high],
            "signal": self.signal,
        }


def meaning(metadata: Mapping[str, Any]) -> Meaning:
    """The meaning of a field from its file's metadata.

    >>> meaning({}).sentences(2, 1)[0]
    '2 coordinates in [-1, 1]: axis 0, axis 1; sample i of n lies at (2 i + 1) / n - 1.'
    """
    described = metadata.get("signal")
    convention = str(metadata.get("convention", "centres"))
    if not described:
        return Meaning("values", "field", convention, IDENTITY, {})
    signal = from_metadata(described)
    plain = {key: value for key, value in described.items() if key not in PRIVATE}
    units = getattr(signal, "coordinate_units", None)
    return Meaning(
        signal.kind,
        signal.name,
        convention,
        value_transform(signal),
        plain,
        tuple(signal.shape),
        None if units is None else tuple(units(convention)),
    )
