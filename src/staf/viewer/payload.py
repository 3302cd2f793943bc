"""What a page holds of a field: a JSON-able description, and all numbers as bytes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from staf._documents import Document
from staf.export import graph as g
from staf.export.errors import ExportError
from staf.export.evaluate import evaluate
from staf.export.meaning import Meaning
from staf.viewer.views import view_of

MOST_COORDINATES = 4
# Of a scene: a position and a direction.
SCENE_COORDINATES = 6
# Smaller arrays gain nothing by float16.
SMALL = 1024
# The samples of an axis that nothing is known of.
SAMPLES = 512


@dataclass(frozen=True)
class Payload:
    """`description` names the steps of the network and where their arrays lie in `numbers`."""

    description: Document
    numbers: bytes

    def text(self) -> str:
        """The description as JSON, which has no NaN and no infinity."""
        try:
            return json.dumps(self.description, allow_nan=False)
        except ValueError as error:
            raise ExportError("cannot make a page: its description holds a number that is not finite") from error

    def to_bytes(self) -> bytes:
        """Both in one: the length of the description in four bytes, the description as JSON, the numbers."""
        text = self.text().encode()
        text += b" " * (-len(text) % 4)
        return len(text).to_bytes(4, "little") + text + self.numbers


def payload(graph: g.Graph, meant: Meaning, *, half: bool = False) -> Payload:
    """The payload of a graph; with `half`, large matrices between hidden layers are float16.

    What multiplies coordinates stays float32, because it holds the frequencies themselves.

    >>> from staf.signals.value_transform import IDENTITY
    >>> graph = g.Graph(2, [g.Dense(0, np.ones((8, 2)), np.zeros(8))])
    >>> held = payload(graph, Meaning("values", "field", "centres", IDENTITY, {}))
    >>> held.description["steps"][0]["arrays"]["bias"], len(held.numbers)
    ({'at': 64, 'shape': [8], 'type': 'f32'}, 96)
    """
    view = view_of(meant, graph.in_features)
    if graph.in_features > (SCENE_COORDINATES if view["type"] == "scene" else MOST_COORDINATES):
        raise ExportError(
            f"cannot make a page: it shows fields of up to {MOST_COORDINATES} coordinates, and this one has "
            f"{graph.in_features}; use .onnx or .c"
        )
    parts: list[bytes] = []
    steps = [_step(step, parts, half=half) for step in graph.steps]
    # The samples of a point cloud are not a grid: its view says which one is shown.
    shape = view.get("shape") or meant.shape or (SAMPLES,) * graph.in_features
    description = {
        "inputs": graph.in_features,
        "outputs": graph.out_features,
        "steps": steps,
        "meaning": _told(graph, meant),
        "shape": list(shape),
        "units": list(meant.units or (1.0,) * graph.in_features),
        "view": view,
        "axes": [_axis(size, meant.convention) for size in shape],
    }
    return Payload(description, b"".join(parts))


def _told(graph: g.Graph, meant: Meaning) -> Document:
    """What the page needs to know of coordinates and values; the view has the rest."""
    told = {name: value for name, value in meant.to_plain().items() if name != "signal"}
    return told if meant.shape else {**told, "value_range": _seen_range(graph)}


def _seen_range(graph: g.Graph) -> list[float]:
    """Where the values of a field lie of which no signal tells it, at points of the cube; 1 in 100 lies outside.

    Of a curve none does: a picture may be clipped here and there, a curve may not.
    """
    points = np.random.default_rng(0).uniform(-1, 1, (2048, graph.in_features))
    low, high = np.quantile(evaluate(graph, points), [0.0, 1.0] if graph.in_features == 1 else [0.005, 0.995])
    return [float(low), float(high)] if low < high else [float(low) - 0.5, float(low) + 0.5]


def _axis(size: int, convention: str) -> dict[str, float]:
    """Where places lie, in samples of which number i covers [i, i + 1]: coordinate = start + step * place."""
    if convention == "ends" and size > 1:
        return {"start": -1 - 1 / (size - 1), "step": 2 / (size - 1)}
    return {"start": -1.0, "step": 2 / size}


def _step(step: g.Step, parts: list[bytes], *, half: bool) -> Document:
    """A step as JSON-able data; its arrays are appended to `parts`."""
    plain: Document = {name: value for name, value in vars(step).items() if isinstance(value, float | bool)}
    if isinstance(step, g.Chebyshev):
        plain["degree"] = step.degree
    if isinstance(step, g.HashGrid):
        plain["levels"] = [asdict(level) for level in step.levels]
    arrays = {}
    for name, array in g.arrays(step).items():
        hidden = isinstance(step, g.HashGrid) or (isinstance(step, g.Dense) and step.source != g.COORDINATES)
        halved = half and hidden and array.size >= SMALL
        halved = halved and np.abs(array).max() < np.finfo(np.float16).max
        data = array.astype("<f2" if halved else "<f4")
        if not np.isfinite(data).all():
            raise ExportError("cannot make a page: the field holds a number that is not finite")
        at = sum(map(len, parts))
        arrays[name] = {"at": at, "shape": list(array.shape), "type": "f16" if halved else "f32"}
        # Arrays begin at multiples of four bytes.
        parts.append(data.tobytes() + bytes(-data.nbytes % 4))
    return {"type": type(step).__name__, "sources": list(step.sources), "arrays": arrays, **plain}
