"""Files that hold the field itself, by suffix: a page, ONNX, source code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from staf.export import ExportError, export_c, export_glsl, export_onnx, export_wgsl
from staf.export.meaning import Exportable
from staf.viewer.page import export_html

TARGETS: dict[str, Callable[[Exportable, Path], Path]] = {
    ".html": export_html,
    ".onnx": export_onnx,
    ".c": export_c,
    ".glsl": export_glsl,
    ".wgsl": export_wgsl,
}


def export(field: Exportable, path: str | os.PathLike[str], *, half: bool = False) -> Path:
    """Write a field in the format of the suffix: .html, .onnx, .c, .glsl or .wgsl; `half` is for .html alone.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> export(fit.field, tempfile.mkdtemp() + "/picture.wgsl").name
    'picture.wgsl'
    """
    path = Path(path)
    write = TARGETS.get(path.suffix.lower())
    if write is None:
        raise ExportError(f"path must end in {', '.join(TARGETS)}, got {str(path)!r}")
    if not half:
        return write(field, path)
    if write is not export_html:
        raise ExportError(f"half is for .html pages, got {str(path)!r}")
    return export_html(field, path, half=True)
