"""A fitted field for other programs: ONNX, and source code in C, GLSL and WGSL."""

from __future__ import annotations

from staf.export.describe import describe
from staf.export.errors import ExportError

__all__ = ["ExportError", "describe"]
