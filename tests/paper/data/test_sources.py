from __future__ import annotations

import numpy as np
import pytest

from paper.data.sources import Source, image_sources, main, open_source, source_data, write_stack
from staf.kinds import Image
from tests.paper.stack import pictures, stack


def test_a_stack_and_its_files_are_the_same_data(tmp_path):
    found = image_sources([stack(tmp_path)])
    (tmp_path / "files").mkdir()
    for name, array in pictures().items():
        Image(array).save(tmp_path / "files" / f"{name}.png")
    files = image_sources([tmp_path / "files"])
    assert list(found) == list(files) == ["one", "two"]
    for name in found:
        assert np.array_equal(open_source(found[name], name).array, pictures()[name])
        assert source_data(found[name], name) == source_data(files[name], name)
    assert source_data(found["one"], "one").sha256 != source_data(found["two"], "two").sha256


def test_files_are_stacked_by_a_command(tmp_path):
    for name, array in pictures().items():
        Image(array).save(tmp_path / f"{name}.png")
    assert main([str(tmp_path / "all.npy"), str(tmp_path / "two.png"), str(tmp_path / "one.png")]) == 0
    assert np.load(tmp_path / "all.npy").shape == (2, 12, 12, 3)
    assert list(image_sources([tmp_path / "all.npy"])) == ["two", "one"]


def test_images_are_picked_by_place_or_name(tmp_path):
    path = stack(tmp_path)
    assert list(image_sources([path], ["1"])) == ["two"]
    assert list(image_sources([path], ["two", "0"])) == ["two", "one"]
    with pytest.raises(ValueError, match="--pick must be names or places 0 to 1 of the images, got 'three'"):
        image_sources([path], ["three"])


def test_a_stack_needs_one_shape_and_a_name_for_each(tmp_path):
    with pytest.raises(ValueError, match="must have the same shape"):
        write_stack(tmp_path / "s.npy", {"a": np.zeros((4, 4, 3), np.uint8), "b": np.zeros((4, 5, 3), np.uint8)})
    path = stack(tmp_path)
    (tmp_path / "pictures.txt").write_text("one\n")
    with pytest.raises(ValueError, match="must name the 2 images"):
        image_sources([path])


def test_one_image_saved_by_numpy_is_no_stack(tmp_path):
    np.save(tmp_path / "photo.npy", pictures()["one"])
    assert list(image_sources([tmp_path / "photo.npy"])) == ["photo"]


def test_samples_are_a_recording(tmp_path):
    np.save(tmp_path / "wave.npy", np.sin(np.arange(800) * 0.1).astype(np.float32))
    recording = open_source(Source(str(tmp_path / "wave.npy"), rate=8000), "wave")
    assert (recording.kind, recording.rate, recording.samples) == ("audio", 8000, 800)
