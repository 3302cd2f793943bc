from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Grid, Image
from staf.kinds.grid import files
from staf.signals import SignalError


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        *[(shape, Image) for shape in ((4, 5), (4, 5, 1), (4, 5, 4))],
        *[(shape, Grid) for shape in ((7,), (4, 5, 5), (4, 5, 60), (3, 4, 5, 6), (2, 3, 4, 5, 6))],
    ],
)
def test_the_shape_of_an_array_says_what_it_is(shape, kind, tmp_path):
    array = np.zeros(shape, np.uint8)
    np.save(tmp_path / "a.npy", array)
    for opened in (staf.open(array), staf.open(tmp_path / "a.npy")):
        assert type(opened) is kind
        assert np.array_equal(np.asarray(opened).reshape(shape), array)
    assert type(staf.open(array, kind="grid")) is Grid
    assert type(staf.open(tmp_path / "a.npy", kind="grid")) is Grid


def test_layouts():
    array = np.zeros((5, 8, 9), np.float32)
    assert staf.open(array, layout="channels-first").shape == (8, 9)
    assert staf.open(array, layout="channels-last").shape == (5, 8)
    assert staf.open(array, layout="no-channels").shape == (5, 8, 9)
    assert staf.open(torch.zeros(5, 8, 9, dtype=torch.bfloat16), layout="channels-first").shape == (8, 9)
    with pytest.raises(
        SignalError, match="layout must be one of channels-last, channels-first, no-channels, got 'hwc'"
    ):
        staf.open(array, kind="grid", layout="hwc")
    with pytest.raises(SignalError, match=r"kind must be one of image, audio, shape, grid, .*got 'volume'"):
        staf.open(array, kind="volume")
    with pytest.raises(SignalError, match="not opened as kind 'audio'"):
        staf.open(array, kind="audio")


def test_files_are_mapped_and_not_read(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(60.0).reshape(3, 4, 5))
    grid = staf.open(tmp_path / "a.npy")
    assert isinstance(grid._samples(), np.memmap)
    assert (grid.name, grid.source) == ("a", str(tmp_path / "a.npy"))
    assert grid.save(tmp_path / "b.npy").read_bytes() == (tmp_path / "a.npy").read_bytes()
    with pytest.raises(SignalError, match=r"saved as \.npy"):
        grid.save(tmp_path / "b.png")


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "int64"])
@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3)])
def test_files_of_integers_that_no_picture_has_are_grids(tmp_path, shape, dtype):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    np.save(tmp_path / "elevation.npy", array)
    grid = staf.open(tmp_path / "elevation.npy")
    assert type(grid) is Grid
    assert np.array_equal(np.asarray(grid), array)
    with pytest.raises(SignalError, match=f"got {dtype}: convert it first"):
        staf.open(tmp_path / "elevation.npy", kind="image")
    np.save(tmp_path / "picture.npy", array.astype(np.uint16))
    assert staf.open(tmp_path / "picture.npy").kind == "image"


def test_fortran_and_foreign_byte_order(tmp_path):
    array = np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4))
    np.save(tmp_path / "a.npy", array)
    grid = staf.open(tmp_path / "a.npy", kind="grid").with_channels(False)
    assert np.array_equal(grid.values()[:, 0].numpy(), np.arange(24))
    assert np.array_equal(np.load(grid.save(tmp_path / "b.npy")), array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    array = np.random.default_rng(0).integers(-9, 9, (4, 5, 30)).astype(np.int16)
    save(tmp_path / "a.npz", array)
    grid = staf.open(tmp_path / "a.npz")
    assert np.array_equal(np.asarray(grid), array)
    assert grid.dtype == np.int16
    save(tmp_path / "two.npz", one=array, two=array)
    with pytest.raises(SignalError, match=r"it holds 2 arrays \(one, two\)"):
        staf.open(tmp_path / "two.npz")
    with pytest.raises(SignalError, match="4x5x30 samples, more than max_pixels=599"):
        staf.open(tmp_path / "a.npz", max_pixels=599)


def test_limits_come_before_work(tmp_path, monkeypatch):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**5,) * 3})
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("a.npy", header.getvalue())
    monkeypatch.setattr(files.np.lib.format, "read_array", None)
    with pytest.raises(SignalError, match="100000x100000x100000 samples, more than max_pixels=400000000"):
        staf.open(tmp_path / "bomb.npz")
    np.save(tmp_path / "a.npy", np.zeros((5, 5, 50)))
    with pytest.raises(SignalError, match="5x5x50 samples, more than max_pixels=9"):
        staf.open(tmp_path / "a.npy", max_pixels=9)


def test_pickles_and_damage_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(SignalError, match="pickled Python objects"):
        staf.open(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", np.array([{"a": 1}], dtype=object))
    with pytest.raises(SignalError, match="pickled Python objects"):
        staf.open(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", np.arange(1000.0))
    data = (tmp_path / "b.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(SignalError, match="damaged or cut short"):
        staf.open(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", np.arange(1000.0))
    (tmp_path / "c.npy").write_bytes((tmp_path / "c.npy").read_bytes()[:900])
    with pytest.raises(SignalError, match="damaged or cut short"):
        staf.open(tmp_path / "c.npy")


def test_damaged_files_never_crash(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, np.arange(60.0).reshape(3, 4, 5))
    data = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(data)
        for position in generator.integers(0, len(data), 4):
            damaged[position] = generator.integers(0, 256)
        path.write_bytes(bytes(damaged))
        told = "cannot open ..., or opened"
        try:
            staf.open(path, max_pixels=10**6)
        except SignalError as error:
            told = str(error)
        assert told.startswith("cannot open ")
        assert "\n" not in told
