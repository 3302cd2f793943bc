"""What is fuzzed: every loader, with small valid files made by our own writers to start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.fuzz import fields, grids, pictures, sounds, surfaces
from tests.fuzz.target import Target

MAKERS: dict[str, Callable[[Path], Target]] = {
    **pictures.MAKERS,
    **sounds.MAKERS,
    **surfaces.MAKERS,
    **grids.MAKERS,
    **fields.MAKERS,
}


def make_targets(folder: Path, names: Sequence[str] = ()) -> list[Target]:
    """The targets of these names, or all, with their seeds; `folder` is for files on the way."""
    made = []
    for name, make in MAKERS.items():
        if not names or name in names:
            own = folder / f"seeds-{name}"
            own.mkdir(parents=True, exist_ok=True)
            made.append(make(own))
    return made
