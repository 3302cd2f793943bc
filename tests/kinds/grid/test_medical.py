"""NIfTI and DICOM files: values, the size of voxels, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import staf
from staf.kinds import Grid
from staf.kinds.grid.medical import read_dicom_series
from staf.signals.errors import SignalError

pydicom = pytest.importorskip("pydicom")
pytest.importorskip("nibabel")


def write_slice(path, values, position):
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian

    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.2", "1.2.3.4"
    file = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    file.Rows, file.Columns = values.shape
    file.SamplesPerPixel, file.PhotometricInterpretation = 1, "MONOCHROME2"
    file.BitsAllocated = file.BitsStored = 16
    file.HighBit, file.PixelRepresentation = 15, 0
    file.RescaleSlope, file.RescaleIntercept = 2, -1000
    file.PixelSpacing, file.SliceThickness = [0.5, 0.75], 3
    file.ImagePositionPatient, file.ImageOrientationPatient = [0, 0, position], [1, 0, 0, 0, 1, 0]
    file.PixelData = values.astype("<u2").tobytes()
    file.save_as(path, enforce_file_format=True)


@pytest.mark.parametrize("name", ["volume.nii", "volume.nii.gz"])
def test_a_volume_goes_to_nifti_and_back_with_its_voxels(name, tmp_path):
    array = np.random.default_rng(0).random((3, 4, 5), np.float32)
    Grid(array, channels=False, spacing=(3, 2, 1.5)).save(tmp_path / name)
    back = staf.open(tmp_path / name)
    assert isinstance(back, Grid)
    assert back.spacing == (3, 2, 1.5)
    np.testing.assert_array_equal(np.asarray(back), array)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_slice_has_its_units_and_a_series_its_order(tmp_path):
    slices = np.random.default_rng(0).integers(0, 2000, (3, 4, 5))
    for number, position in enumerate([7.0, 2.0, 4.5]):
        write_slice(tmp_path / f"{number}.dcm", slices[number], position)
    (tmp_path / "notes.txt").write_text("nothing")
    one = staf.open(tmp_path / "0.dcm")
    np.testing.assert_array_equal(np.asarray(one), slices[0] * 2.0 - 1000)
    assert one.spacing == (0.5, 0.75)
    series = read_dicom_series(tmp_path)
    assert series.spacing == (2.5, 0.5, 0.75)
    np.testing.assert_array_equal(np.asarray(series), slices[[1, 2, 0]] * 2.0 - 1000)
    write_slice(tmp_path / "3.dcm", slices[0], 20.0)
    with pytest.raises(SignalError, match=r"must lie evenly, got distances from 2\.5 to 13"):
        read_dicom_series(tmp_path)


def test_files_that_are_no_volumes_are_refused(tmp_path):
    (tmp_path / "a.nii").write_bytes(b"\x5c\x01\x00\x00" + bytes(30))
    (tmp_path / "a.dcm").write_bytes(bytes(128) + b"DICM" + bytes(9))
    for name in ("a.nii", "a.dcm"):
        with pytest.raises(SignalError, match=r"damaged or cut short|no NIfTI|no DICOM"):
            staf.open(tmp_path / name)
    Grid(np.zeros((9, 9, 9), np.float32), channels=False).save(tmp_path / "big.nii")
    with pytest.raises(SignalError, match="more than max_pixels=100"):
        staf.open(tmp_path / "big.nii", max_pixels=100)


def test_spacing_follows_the_grid():
    grid = Grid(np.zeros((4, 6, 20)), channels=False, spacing=(1, 2, 3))
    assert grid.empty((8, 6, 10)).spacing == (0.5, 2, 6)
    assert Grid.from_metadata(grid.metadata()).spacing == (1, 2, 3)
    finer = grid.render(lambda x: x[:, :1], scale=2, crop=[(0, 4), (0, 3), (0, 20)])
    assert finer.spacing == (0.5, 1, 1.5)
    with pytest.raises(SignalError, match="spacing must be 3 positive numbers"):
        Grid(np.zeros((4, 6, 20)), channels=False, spacing=(1, 2))
