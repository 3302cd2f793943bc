"""What a fit writes for TensorBoard is what happened."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import PIL.Image
import pytest

import staf
from staf.callbacks import TensorBoard
from staf.kinds import Audio, Image

accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(folder: Path) -> accumulators.EventAccumulator:
    events = accumulators.EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "audio": 0})
    events.Reload()
    return events


def test_curves_activations_and_pictures(tmp_path: Path):
    picture = Image(np.linspace(0, 255, 12 * 10 * 3).reshape(12, 10, 3).astype(np.uint8))
    field = staf.staf(2, 3, width=8, depth=2)
    with TensorBoard(tmp_path, picture, interval=1e6) as board:
        fit = staf.fit(picture, field, steps=5, progress=False, callbacks=board)
    events = read(tmp_path)
    loss = events.Scalars("loss")
    assert [entry.step for entry in loss] == fit.history.step
    assert [entry.value for entry in loss] == pytest.approx(fit.history.loss)
    assert [entry.value for entry in events.Scalars("psnr")] == pytest.approx(fit.history.psnr, rel=1e-5)
    assert [entry.step for entry in events.Images("fit")] == [5]
    shown = np.array(PIL.Image.open(io.BytesIO(events.Images("fit")[0].encoded_image_string)))
    assert np.array_equal(shown, fit.reconstruction.array)
    assert "activations.0.frequency" in events.Tags()["histograms"]


def test_sounds(tmp_path: Path):
    sound = Audio(np.sin(np.arange(800) / 9).astype(np.float32), 8000)
    with TensorBoard(tmp_path, sound, interval=1e6) as board:
        staf.fit(sound, staf.siren(1, 1, width=8, depth=2), steps=2, progress=False, callbacks=board)
    (entry,) = read(tmp_path).Audio("fit")
    assert (entry.sample_rate, entry.length_frames) == (8000, 800)


def test_pictures_come_at_intervals_and_cost_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(10_000))
    own = SimpleNamespace(monotonic=lambda: float(next(clock)))
    monkeypatch.setattr("staf.callbacks.tensorboard.time", own)
    picture = np.zeros((4, 4), np.uint8)
    with TensorBoard(tmp_path, staf.open(picture), interval=0.0) as board:
        staf.fit(picture, staf.siren(2, 1, width=8, depth=2), steps=20, progress=False, callbacks=board)
    # A picture takes a second and a half by this clock: at least ten times as long passes before the next.
    steps = [entry.step for entry in read(tmp_path).Images("fit")]
    assert steps[-1] == 20
    assert 2 <= len(steps) < 10


def test_kinds_without_a_picture_are_not_rendered(tmp_path: Path):
    with TensorBoard(tmp_path / "scene", object()) as board, TensorBoard(tmp_path / "none") as none:
        fit = staf.fit(
            np.eye(4, dtype=np.float32), staf.siren(2, 1, width=8), steps=2, progress=False, callbacks=[board, none]
        )
    assert len(read(tmp_path / "scene").Scalars("loss")) == len(fit.history)
    assert read(tmp_path / "scene").Tags()["images"] == []


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match=r"pip install 'staf\[track\]'"):
        TensorBoard(tmp_path)
