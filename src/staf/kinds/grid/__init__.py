"""Grids: arrays of 1 to 4 dimensions with any number of channels."""

from __future__ import annotations

from staf.kinds.registry import Format, Kind

_FILES, _MEDICAL = "staf.kinds.grid.files", "staf.kinds.grid.medical"

KIND = Kind(
    "grid",
    "staf.kinds.grid.signal:Grid",
    formats=(
        Format("NPY", "grid", ((0, b"\x93NUMPY"),), f"{_FILES}:read_npy"),
        Format("NPZ", "grid", ((0, b"PK\x03\x04"),), f"{_FILES}:read_npz", test=f"{_FILES}:announces_npz"),
        # The size of the header, in either byte order; a compressed file may be anything, and its reader tells.
        Format("NIfTI", "grid", ((0, b"\x5c\x01\x00\x00"),), f"{_MEDICAL}:read_nifti"),
        Format("NIfTI", "grid", ((0, b"\x00\x00\x01\x5c"),), f"{_MEDICAL}:read_nifti"),
        Format("NIfTI", "grid", ((0, b"\x1f\x8b"),), f"{_MEDICAL}:read_nifti"),
        Format("DICOM", "grid", ((128, b"DICM"),), f"{_MEDICAL}:read_dicom"),
    ),
    opens="staf.kinds.grid.conversion:grid_from",
    layouts=("channels-last", "channels-first", "no-channels"),
    options="staf.kinds.grid.options",
    suffixes=(".npy", ".npz", ".nii", ".gz", ".dcm"),
    order=4,
)
