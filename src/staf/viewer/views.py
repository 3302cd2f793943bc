"""Which view a page opens with: by the kind of signal, or by the number of coordinates where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staf.export.meaning import Meaning

View = dict[str, Any]
# The surface of an occupancy, as the library renders it.
LEVEL = 0.5


def _picture(meant: Meaning) -> View:
    return {"type": "picture"}


def _sound(meant: Meaning) -> View:
    return {"type": "sound", "rate": meant.signal.get("rate")}


def _slices(meant: Meaning) -> View:
    return {"type": "slices"}


def _surface(meant: Meaning) -> View:
    """A point of the original is scale * coordinate + shift."""
    from staf.kinds.shape.frame import Frame

    frame = Frame.from_plain(meant.signal["frame"])
    ends: Any = meant.convention
    at_origin, at_ones = frame.to_field(np.array([[0.0] * 3, [1.0] * 3]), ends)
    scale = 1 / (at_ones - at_origin)
    shift = -at_origin * scale
    return {
        "type": "surface",
        "level": LEVEL,
        "axes": ["x", "y", "z"],
        "scale": scale.tolist(),
        "shift": shift.tolist(),
    }


BY_KIND: dict[str, Callable[[Meaning], View]] = {"image": _picture, "audio": _sound, "shape": _surface}
BY_COORDINATES: dict[int, Callable[[Meaning], View]] = {1: _sound, 2: _picture, 3: _slices, 4: _slices}


def words_of(meant: Meaning) -> str:
    """What was fitted, in a few words.

    >>> from staf.export.meaning import meaning
    >>> words_of(meaning({}))
    'Values'
    """
    if not meant.shape:
        return meant.kind.capitalize()
    if rate := meant.signal.get("rate"):
        return f"{meant.shape[0] / rate:.3g} s of {meant.kind} at {rate:,} samples per second"
    # Pictures are spoken of by width, then height.
    sizes = reversed(meant.shape) if len(meant.shape) == 2 else meant.shape
    return f"{meant.kind.capitalize()} of {' × '.join(map(str, sizes))}"


def view_of(meant: Meaning, inputs: int) -> View:
    """The view of a field of so many coordinates.

    >>> from staf.export.meaning import meaning
    >>> view_of(meaning({}), 2)
    {'type': 'picture'}
    """
    make = BY_KIND.get(meant.kind) or BY_COORDINATES[inputs]
    return make(meant)
