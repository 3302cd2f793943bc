"""The suffix chooses the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from staf.export import ExportError
from staf.viewer import TARGETS, export
from tests.export.fields import image_field


@pytest.mark.parametrize("suffix", TARGETS)
def test_every_suffix_writes_its_own_format(suffix: str, tmp_path: Path):
    pytest.importorskip("onnx")
    path = export(image_field(width=8, depth=2), tmp_path / f"field{suffix.upper()}")
    starts = {
        ".html": b"<!DOCTYPE html>",
        ".onnx": b"\x08\x08\x12\x04staf",
        ".c": b"/* A field",
        ".glsl": b"// A field",
    }
    assert path.read_bytes().startswith(starts.get(suffix, b"// A field"))


def test_other_suffixes_and_options_without_effect_are_refused(tmp_path: Path):
    with pytest.raises(ExportError, match=r"path must end in \.html, \.onnx, \.c, \.glsl, \.wgsl, got .*field\.png"):
        export(image_field(width=8, depth=2), tmp_path / "field.png")
    with pytest.raises(ExportError, match=r"half is for \.html"):
        export(image_field(width=8, depth=2), tmp_path / "field.onnx", half=True)
    assert list(tmp_path.iterdir()) == []
