"""Photographs that are already on the machine, for demonstrations and documentation."""

from __future__ import annotations

from pathlib import Path

from staf._extras import need
from staf.kinds.image.signal import Image
from staf.kinds.opening import open as open_signal
from staf.signals.errors import SignalError

SAMPLES = {
    "astronaut": "astronaut.png",
    "camera": "camera.png",
    "chelsea": "chelsea.png",
    "coffee": "coffee.png",
    "hubble": "hubble_deep_field.jpg",
    "moon": "moon.png",
    "motorcycle": "motorcycle_left.png",
    "retina": "retina.jpg",
    "rocket": "rocket.jpg",
}


def sample_photo(name: str = "astronaut") -> Image:
    """A photograph from scikit-image's own package: nothing is downloaded. `SAMPLES` lists the names.

    >>> sample_photo()
    Image('astronaut', 512x512 RGB, uint8)
    """
    if name not in SAMPLES:
        raise SignalError(f"name must be one of {', '.join(SAMPLES)}, got {name!r}")
    package = need("image", "skimage").__file__
    assert package is not None
    return open_signal(Path(package).parent / "data" / SAMPLES[name], name=name)
