"""Views into files: sheets, films, arrays, depths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import PIL.Image
import pytest
import torch

from staf.kinds.scene.reading import Views
from staf.kinds.scene.writing import depth_pictures, sheet, write_views
from staf.signals import SignalError
from tests.kinds.scene.procedural import around


def views(count=3, *, height=5, width=7, depths=True):
    generator = torch.Generator().manual_seed(0)
    cameras = around(count).resized(width=width, height=height)
    pixels = torch.randint(0, 256, (count, height, width, 3), dtype=torch.uint8, generator=generator)
    depth = torch.linspace(2, 4, count * height * width).reshape(count, height, width) if depths else None
    return Views([f"{i}" for i in range(count)], pixels, cameras, depth)


def test_a_sheet_has_every_picture_once():
    pictures = views(5).pixels.numpy()
    whole = sheet(pictures)
    assert whole.shape == (15, 14, 3)
    assert np.array_equal(whole[5:10, 7:14], pictures[3])
    assert (whole[10:, 7:] == 255).all()
    with pytest.raises(SignalError, match="too many for one sheet"):
        sheet(np.zeros((400, 1000, 1000, 3), np.uint8))


def test_one_picture_and_several(tmp_path):
    write_views(views(1), tmp_path / "one.png")
    assert np.array_equal(np.asarray(PIL.Image.open(tmp_path / "one.png")), views(1).pixels[0].numpy())
    write_views(views(3), tmp_path / "three.png")
    assert PIL.Image.open(tmp_path / "three.png").size == (14, 10)


def test_a_gif_has_a_frame_for_each_view(tmp_path):
    write_views(views(4), tmp_path / "a.gif")
    with PIL.Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 4
        assert film.info["duration"] == 40


def test_an_mp4_has_a_frame_for_each_view(tmp_path):
    av = pytest.importorskip("av")
    smooth = views(4, height=33, width=48)
    smooth.pixels[:] = torch.arange(48, dtype=torch.uint8)[:, None] * 5
    write_views(smooth, tmp_path / "a.mp4")
    with av.open(str(tmp_path / "a.mp4")) as film:
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert len(frames) == 4
    # One row less, because sides are even.
    assert frames[0].shape == (32, 48, 3)
    assert np.abs(frames[0].astype(int) - smooth.pixels[0, :32].numpy()).mean() < 6


def test_arrays_keep_depths_and_cameras(tmp_path):
    given = views(2)
    write_views(given, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert np.array_equal(arrays["pixels"], given.pixels.numpy())
        assert np.array_equal(arrays["depths"], given.depths.numpy())
        assert np.array_equal(arrays["poses"], given.cameras.poses.numpy())
        assert "distortion" not in arrays
    lens = torch.tensor([[0.1, 0.0, 0.01, 0.0]]).expand(2, 4)
    write_views(replace(given, cameras=replace(given.cameras, distortion=lens)), tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz") as arrays:
        assert np.array_equal(arrays["distortion"], lens.numpy())


def test_depth_pictures_are_lighter_where_it_is_nearer(tmp_path):
    given = views(2)
    given.depths[0, 0] = 0
    grey = depth_pictures(given)
    assert grey.dtype == np.uint16
    assert (grey[0, 0] == 0).all()
    assert grey[0, 1, 0] > grey[1, 2, 3] > grey[1, -1, -1] > 0
    write_views(given, tmp_path / "d.png", depth=True)
    write_views(given, tmp_path / "d.jpg", depth=True)
    assert PIL.Image.open(tmp_path / "d.png").size == PIL.Image.open(tmp_path / "d.jpg").size
    # A sheet of 2x2 places has one that is empty: black, as nothing is.
    write_views(views(3), tmp_path / "three.png", depth=True)
    assert np.asarray(PIL.Image.open(tmp_path / "three.png"))[-5:, -7:].max() == 0
    with pytest.raises(SignalError, match="have no depth"):
        write_views(views(depths=False), tmp_path / "d.png", depth=True)


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(SignalError, match=r"views are written as .*got 'a.foo'"):
        write_views(views(), tmp_path / "a.foo")
