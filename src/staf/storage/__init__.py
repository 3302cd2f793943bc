"""Files of fields: one field in one safetensors file, and folders of many."""

from __future__ import annotations

from staf.storage.file import FileError, load_field, read_header, save_field

__all__ = ["FileError", "load_field", "read_header", "save_field"]
