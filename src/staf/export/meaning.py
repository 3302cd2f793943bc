"""What a field's coordinates and values mean, told to programs that do not have staf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from staf._documents import Document, Entries
from staf.signals.base import Signal
from staf.signals.grid import Convention
from staf.signals.value_transform import IDENTITY, ValueTransform, value_transform

# Sentences and profiles are of no use to another program, and may say more than their writer wants to share.
PRIVATE = ("notes", "profile", "content", "source")
PLACED = {
    "centres": "sample i of n lies at (2 i + 1) / n - 1",
    "ends": "sample i of n lies at 2 i / (n - 1) - 1",
}


class Exportable(Protocol):
    """A `FittedField`: a network, what its file says of it, and the empty signal it renders, if there is one."""

    @property
    def module(self) -> nn.Module: ...
    @property
    def metadata(self) -> Entries: ...
    @property
    def convention(self) -> Convention: ...
    @property
    def signal(self) -> Any: ...


@dataclass(frozen=True)
class Meaning:
    """Coordinates of a grid of `shape` lie in [-1, 1] by `convention`; value = offset + scale * output of the network.

    `low` and `high` are the range of the values; `described` is what the file says of the signal, without notes;
    `units` are how many of the signal's own units (pixels, seconds) one unit of each coordinate spans; `page` is how a
    page shows it.
    """

    kind: str
    name: str
    convention: Convention
    transform: ValueTransform
    described: Document
    shape: tuple[int, ...] | None = None
    units: tuple[float, ...] | None = None
    page: Document | None = None

    @property
    def low(self) -> float:
        return float(self.transform.offset + self.transform.scale * self.transform.low)

    @property
    def high(self) -> float:
        return float(self.transform.offset + self.transform.scale * self.transform.high)

    def sentences(self, inputs: int, outputs: int) -> list[str]:
        """The meaning in words, for the head of a source file."""
        if self.page and "sentences" in self.page:
            return [str(sentence) for sentence in self.page["sentences"]]
        axes = {1: "along the axis", 2: "row (from the top), then column (from the left)"}.get(inputs, "axis by axis")
        size = f" of {' x '.join(map(str, self.shape))} samples" if self.shape else ""
        return [
            f"{inputs} coordinate{'s' if inputs > 1 else ''} in [-1, 1]: {axes}; {PLACED[self.convention]}.",
            f"{outputs} value{'s' if outputs > 1 else ''}, in [{self.low:g}, {self.high:g}] after clamping.",
            f"Fitted to: {self.kind}{size}.",
        ]

    def to_plain(self) -> Document:
        """JSON-able."""
        return {
            "kind": self.kind,
            "name": self.name,
            "convention": self.convention,
            "value_offset": self.transform.offset,
            "value_scale": self.transform.scale,
            "value_range": [self.low, self.high],
            "signal": self.described,
        }


def meaning(field: Exportable) -> Meaning:
    """The meaning of a field.

    >>> import numpy as np, staf
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> meaning(fit.field).sentences(2, 1)[0][:65]
    '2 coordinates in [-1, 1]: row (from the top), then column (from t'
    """
    described = field.metadata.get("signal")
    if not described:
        return Meaning("values", "field", field.convention, IDENTITY, {})
    signal: Signal = field.signal
    return Meaning(
        signal.kind,
        signal.name,
        field.convention,
        value_transform(signal),
        {key: value for key, value in described.items() if key not in PRIVATE},
        tuple(signal.shape),
        tuple(signal.coordinate_units(field.convention)),
        signal.view.page(field.convention),
    )
