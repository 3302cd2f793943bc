"""Embedded ICC profiles: kept where they fit the channels, used where ink must become light."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import PIL.Image

LONGEST_NAME = 80
SPACES = {b"GRAY": (1, 2), b"RGB ": (3, 4)}


def fitting_profile(profile: bytes | None, channels: int) -> tuple[bytes | None, list[str]]:
    """The profile if it describes images of so many channels, else None; and what to tell the user.

    >>> fitting_profile(None, 3)
    (None, [])
    >>> fitting_profile(b"no profile", 3)
    (None, ['an embedded colour profile that does not fit the pixels is dropped'])
    """
    if not profile:
        return None, []
    if channels not in SPACES.get(profile[16:20], ()) or profile[36:40] != b"acsp":
        return None, ["an embedded colour profile that does not fit the pixels is dropped"]
    return profile, [f"the colour profile {describe(profile)!r} is kept, and written back on saving"]


def describe(profile: bytes) -> str:
    """The profile's own name for itself."""
    from PIL import ImageCms

    try:
        told = ImageCms.getProfileDescription(ImageCms.ImageCmsProfile(io.BytesIO(profile)))
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return "unnamed"
    return "".join(letter for letter in " ".join(told.split()) if letter.isprintable())[:LONGEST_NAME] or "unnamed"


def cmyk_to_rgb(image: PIL.Image.Image) -> tuple[np.ndarray, list[str]]:
    """Pixels (h, w, 3) in sRGB of a CMYK image: through its profile, or by (1-c)(1-k) when it has none."""
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            converted = None
        if converted is not None:
            return np.asarray(converted), [f"converted from CMYK ({describe(profile)}) to sRGB"]
    return np.asarray(image.convert("RGB")), ["converted from CMYK without a profile to RGB: colours are approximate"]
