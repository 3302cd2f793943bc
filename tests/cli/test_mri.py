from __future__ import annotations

import numpy as np
import pytest

from staf.kinds import Image


@pytest.fixture
def cross(here):
    array = np.full((24, 24), 40, np.uint8)
    array[4:20, 9:15] = 200
    array[9:15, 4:20] = 120
    return Image(array).save("cross.png")


def test_a_known_picture_is_measured_and_brought_back(staf, cross, here):
    words = ["--acceleration", 2, "--coils", 3, "--noise", 0.01, "--steps", 4, "--out", "r", "--json"]
    document = staf("mri", cross, *words).json
    assert list(document["methods"]) == ["staf", "total variation", "wavelet-L1", "zero-filled"]
    assert document["coils"] == 3
    assert document["acceleration"] == pytest.approx(2)
    assert document["metrics"]["psnr"] > 20
    names = {path.name for path in (here / "r").iterdir()}
    assert {"reconstruction.png", "observed.png", "comparison.png", "metrics.json", "report.html"} <= names


def test_coefficients_of_several_coils(staf, cross):
    from staf.kinds import open as open_signal
    from staf.tasks.magnetic_resonance import coil_sensitivities

    picture = open_signal(cross).array[..., 0].astype(np.float32) / 255
    coils = coil_sensitivities((24, 24), 2).numpy()
    full = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(picture * coils, (-2, -1)), norm="ortho"), (-2, -1))
    full[:, :, ::5] = 0
    np.save("kspace.npy", full)
    np.save("coils.npy", coils)
    assert "need their --sensitivities" in staf("mri", "kspace.npy").refused()
    ran = staf("mri", "kspace.npy", "--sensitivities", "coils.npy", "--steps", 3, "--json")
    assert ran.code == 0, ran.err
    found = np.load("runs/kspace-mri/reconstruction.npy")
    assert np.abs(found - picture).mean() < 0.06


def test_mistakes(staf, cross, here):
    assert f"must be a .npy file, got {cross}: give --acceleration" in staf("mri", cross).refused()
    assert "give --acceleration too" in staf("mri", cross, "--coils", 2).refused()
    np.save("real.npy", np.ones((4, 4)))
    assert "must hold complex numbers" in staf("mri", "real.npy").refused()
    np.save("none.npy", np.zeros((4, 4), np.complex64))
    assert "nothing was measured" in staf("mri", "none.npy").refused()
    assert "acceleration must be at least 1" in staf("mri", cross, "--acceleration", 0.5).refused()
    assert "--noise must be at least 0, got -1" in staf("mri", cross, "--acceleration", 2, "--noise", -1).refused()
