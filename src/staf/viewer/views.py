"""How a page shows a field, and what was fitted in a few words."""

from __future__ import annotations

from staf._documents import Document
from staf.export.meaning import Meaning


def view_of(meant: Meaning, inputs: int) -> Document:
    """The view of a field of so many coordinates: its kind's own, or by the number of coordinates.

    >>> from staf.signals.value_transform import IDENTITY
    >>> view_of(Meaning("values", "field", "centres", IDENTITY, {}), 3)
    {'type': 'slices'}
    """
    return meant.page or {"type": {1: "trace", 2: "picture"}.get(inputs, "slices")}


def words_of(meant: Meaning) -> str:
    """What was fitted, in a few words.

    >>> from staf.signals.value_transform import IDENTITY
    >>> words_of(Meaning("image", "photo", "centres", IDENTITY, {}, (20, 30)))
    'Image of 30 × 20'
    """
    if meant.page and "words" in meant.page:
        return str(meant.page["words"])
    if not meant.shape:
        return meant.kind.capitalize()
    if rate := meant.described.get("rate"):
        return f"{meant.shape[0] / rate:.3g} s of {meant.kind} at {rate:,} samples per second"
    # Pictures are spoken of by width, then height.
    sizes = reversed(meant.shape) if len(meant.shape) == 2 else meant.shape
    return f"{meant.kind.capitalize()} of {' × '.join(map(str, sizes))}"
