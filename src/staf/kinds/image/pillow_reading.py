"""Files that Pillow decodes, as `Image`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from staf.kinds.image.conversion import image_from_pil
from staf.kinds.image.signal import Image
from staf.kinds.limits import check_size


def read_with_pillow(path: Path, plugin: Any, max_pixels: int) -> Image:
    """The image that `plugin`, a class such as `PIL.PngImagePlugin.PngImageFile`, finds in the file.

    The class is called directly: `PIL.Image.open` would try other formats, and has its own, global limit.
    """
    with path.open("rb") as file, plugin(file) as picture:
        width, height = picture.size
        check_size(width, height, max_pixels)
        picture.load()
        return image_from_pil(picture)
