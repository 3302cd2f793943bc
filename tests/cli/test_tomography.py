from __future__ import annotations

import numpy as np
import pytest

from staf.operators import parallel_beam


@pytest.fixture
def slab(here):
    array = np.zeros((20, 20), np.float32)
    array[5:15, 6:13] = 0.02
    np.save("slab.npy", array)
    return array


def test_a_known_object_is_scanned_and_measured(staf, slab, here):
    words = ["--evaluate", "--views", 12, "--photons", 1e5, "--spacing", 2, "--steps", 4, "--out", "r", "--json"]
    document = staf("tomography", "slab.npy", *words).json
    assert list(document["methods"]) == ["staf", "SART with total variation", "filtered backprojection"]
    assert document["metrics"]["psnr"] > 18
    assert document["spacing"] == [2.0, 2.0]
    assert document["beam"] == "parallel"
    names = {path.name for path in (here / "r").iterdir()}
    assert {"reconstruction.npy", "reconstruction.png", "comparison.png", "metrics.json", "report.html"} <= names
    report = (here / "r" / "report.html").read_text()
    assert f"<dt>PSNR</dt><dd>{document['metrics']['psnr']:.2f}<" in report
    assert "The result comes from SART with total variation, not from the fit" in report
    assert report.count("not from the fit") == 1
    # The dot beside the fit's curve is the fit's, whatever was returned.
    assert f"{document['fit_metrics']['psnr']:.2f} dB, all points" in report
    assert "every step sees all that is observed" in report


def test_an_object_that_absorbs_all_photons_is_noted(staf, slab, here):
    words = ["tomography", "slab.npy", "--evaluate", "--views", 4, "--photons", 1000, "--steps", 1]
    assert "absorbs all photons" not in staf(*words, "--out", "clear").err
    np.save("slab.npy", 100 * slab)
    assert "the object absorbs all photons of " in staf(*words, "--out", "opaque").err


def test_a_sinogram_comes_back_in_attenuation_per_length(staf, slab, here):
    import math

    import torch

    degrees = np.arange(16) * 180 / 16
    scanner = parallel_beam((20, 20), torch.from_numpy(degrees * math.pi / 180), detectors=24, spacing=2.0)
    np.save("sinogram.npy", scanner.A(torch.from_numpy(slab)).numpy())
    np.save("angles.npy", degrees)
    words = ["--angles", "angles.npy", "--spacing", 2, "--size", 20, "--steps", 3, "--json"]
    ran = staf("tomography", "sinogram.npy", *words)
    assert ran.code == 0, ran.err
    assert not ran.json["returned"]["fitted"]
    found = np.load("runs/sinogram-tomography/reconstruction.npy")
    assert found.shape == (20, 20)
    assert found[7:13, 8:11].mean() == pytest.approx(0.02, rel=0.1)
    assert np.abs(found - slab).mean() < 0.002


def test_a_volume_with_voxels_of_a_nifti_file(staf, here):
    from staf.kinds import Grid
    from staf.kinds import open as open_signal

    array = np.zeros((4, 10, 10), np.float32)
    array[1:3, 3:7, 3:6] = 0.03
    Grid(array, channels=False, spacing=(3, 2, 2)).save("volume.nii.gz")
    assert open_signal("volume.nii.gz").spacing == (3, 2, 2)
    words = ["--evaluate", "--views", 6, "--steps", 2, "--out", "r", "--json"]
    document = staf("tomography", "volume.nii.gz", *words).json
    assert open_signal("r/reconstruction.nii").spacing == (3, 2, 2)
    assert document["beam"] == "cone"
    assert document["spacing"] == [3.0, 2.0, 2.0]
    assert document["metrics"]["psnr"] > 15


def test_mistakes(staf, slab, picture):
    assert "give --evaluate too" in staf("tomography", "slab.npy", "--views", 9).refused()
    assert "a sinogram must be a .npy file" in staf("tomography", picture).refused()
    assert "cone is for volumes" in staf("tomography", "slab.npy", "--evaluate", "--beam", "cone").refused()
    near = ["--evaluate", "--beam", "fan", "--source-distance", 3]
    assert "must be beyond the object" in staf("tomography", "slab.npy", *near).refused()
    assert "--views must be positive, got 0" in staf("tomography", "slab.npy", "--evaluate", "--views", 0).refused()
    assert "at least 2 views" in staf("tomography", "slab.npy", "--evaluate", "--views", 1).refused()
    np.save("two.npy", np.zeros(2))
    assert "one angle for each" in staf("tomography", "slab.npy", "--angles", "two.npy").refused()
