"""A fitted field for other programs: ONNX, and source code in C, GLSL and WGSL."""

from __future__ import annotations

from staf.export.c_source import export_c
from staf.export.describe import describe
from staf.export.errors import ExportError
from staf.export.onnx_file import export_onnx
from staf.export.shader_source import export_glsl, export_wgsl

__all__ = ["ExportError", "describe", "export_c", "export_glsl", "export_onnx", "export_wgsl"]
