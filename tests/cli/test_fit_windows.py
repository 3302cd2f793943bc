from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from staf.kinds import Audio
from staf.kinds import open as open_signal
from staf.windows import load_windows


@pytest.fixture
def song(here):
    time = np.arange(1200) / 2000
    return Audio(np.sin(2 * np.pi * 50 * time)[:, None].repeat(2, 1), rate=2000).save("song.wav")


def test_a_recording_is_fitted_in_windows_and_resumed(staf, song, here):
    words = ["fit-windows", song, "--window", 0.25, "--steps", 60, "--json", "--no-progress"]
    document = staf(*words).json
    assert len(document["windows"]) == 3
    assert document["metrics"]["psnr"] > 15
    folder = here / "runs" / "song-windows"
    made = {path.name for path in folder.iterdir()}
    assert {"fields", "windows.json", "reconstruction.wav", "metrics.json", "comparison.png"} <= made
    saved = open_signal(folder / "reconstruction.wav")
    assert (saved.samples, saved.out_features, saved.rate) == (1200, 2, 2000)
    np.testing.assert_allclose(load_windows(folder).render().array, saved.array, atol=1 / 16384)
    assert "already holds fits" in staf(*words).refused()
    again = staf(*words, "--resume", "--rate", 4000).json
    assert again["metrics"]["psnr"] == pytest.approx(document["metrics"]["psnr"], abs=1e-3)
    assert open_signal(folder / "reconstruction.wav").samples == 2400


def test_people_are_told(staf, song):
    ran = staf("fit-windows", song, "--window", 0.7, "--steps", 1, "--no-progress", "--out", "w")
    assert ran.code == 0, ran.err
    assert "dB PSNR" in ran.out
    assert "1 window\n" in ran.out


def test_mistakes(staf, song, picture):
    assert "is of kind image" in staf("fit-windows", picture).refused()
    assert "--rate must be at least 1" in staf("fit-windows", song, "--rate", 0).refused()
    assert "--window must be a positive number, got nan" in staf("fit-windows", song, "--window", "nan").refused()
    assert "--overlap must be a positive number, got 0" in staf("fit-windows", song, "--overlap", 0).refused()
    assert "give one of them" in staf("fit-windows", song, "--resume", "--overwrite").refused()
    assert "--at-once must be at least 1" in staf("fit-windows", song, "--at-once", 0).refused()
    assert "--device must be 'cpu'" in staf("fit-windows", song, "--device", "tpu").refused()
    assert not Path("runs").exists()
    assert "overlap must be" in staf("fit-windows", song, "--window", 0.1, "--overlap", 0.09).refused()
