"""Files of fields: one field in one safetensors file, and folders of many."""

from __future__ import annotations

from staf.storage.file import load_field, save_field
from staf.storage.folder import FieldFolder
from staf.storage.header import FileError, read_header

__all__ = ["FieldFolder", "FileError", "load_field", "read_header", "save_field"]
