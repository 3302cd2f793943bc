"""Images of 1 to 4 channels, in the bit depth they came with."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_READING = "staf.kinds.image.reading"
_LARGE = "staf.kinds.image.large.reading"
_TIFF = f"{_LARGE}:read_tiff"

KIND = Kind(
    "image",
    "staf.kinds.image.signal:Image",
    formats=(
        Format("PNG", "image", ((0, b"\x89PNG\r\n\x1a\n"),), f"{_LARGE}:read_png"),
        Format("JPEG", "image", ((0, b"\xff\xd8\xff"),), f"{_LARGE}:read_jpeg"),
        *(Format("TIFF", "image", ((0, head),), _TIFF) for head in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
        Format("WebP", "image", ((0, b"RIFF"), (8, b"WEBP")), f"{_READING}:read_webp"),
        Format("GIF", "image", ((0, b"GIF8"),), f"{_READING}:read_gif", test="staf.kinds.gif_blocks:announces_picture"),
        Format("NPY", "image", ((0, b"\x93NUMPY"),), f"{_READING}:read_npy", test=f"{_READING}:announces_image"),
        Format("BMP", "image", ((0, b"BM"),)),
        Format("HEIC", "image", ((4, b"ftyphei"),)),
        Format("AVIF", "image", ((4, b"ftypavif"),)),
        Format("JPEG 2000", "image", ((4, b"jP  \r\n\x87\n"),)),
        Format("JPEG XL", "image", ((0, b"\xff\x0a"),)),
        Format("OpenEXR", "image", ((0, b"v/1\x01"),)),
    ),
    opens="staf.kinds.image.conversion:image_from",
    layouts=("hwc", "chw"),
    options="staf.kinds.image.options",
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"),
    order=1,
)
