"""Libraries that only some uses need: `pip install staf` leaves them out, and an error names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

# What each extra of pyproject.toml brings; the tests compare the two.
EXTRAS = {
    "image": ("tifffile", "imagecodecs", "skimage", "scipy", "pywt"),
    "audio": ("soundfile",),
    "shape": ("trimesh", "point_cloud_utils", "skimage", "scipy"),
    "scene": ("av",),
    "video": ("av",),
    "medical": ("nibabel", "pydicom"),
    "export": ("onnx", "onnxruntime"),
    "track": ("tensorboard",),
    "plot": ("matplotlib",),
    "cluster": ("ray", "fsspec"),
}


class MissingExtra(ImportError):
    """A library that this use needs is not installed; the message is one line with the command that installs it."""


def need(extra: str, module: str) -> ModuleType:
    """The module named `module`, imported now; where it is not installed, the error names the extra that brings it.

    >>> need("plot", "json.decoder").__name__
    'json.decoder'
    >>> need("audio", "no_such_library")
    Traceback (most recent call last):
    staf._extras.MissingExtra: no_such_library is not installed: pip install 'staf[audio]'
    """
    if extra not in EXTRAS:
        raise ValueError(f"extra must be one of {', '.join(EXTRAS)}, got {extra!r}")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        # A library that is there, and whose own imports fail, is broken rather than missing.
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(f"{package} is not installed: pip install 'staf[{extra}]'", name=package) from error
