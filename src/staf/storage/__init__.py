"""Files of fields: one field in one safetensors file, and folders of many."""

from __future__ import annotations

from staf.storage.file import FileError, load_field, read_header, save_field
from staf.storage.folder import FieldFolder

__all__ = ["FieldFolder", "FileError", "load_field", "read_header", "save_field"]
