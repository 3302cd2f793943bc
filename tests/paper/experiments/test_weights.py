"""A published set: card, licence, checksums, labels, and that it is resumed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import staf
from paper.__main__ import main


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    for label in ("cat", "dog"):
        (tmp_path / "data" / label).mkdir(parents=True)
        for number in range(2):
            picture = rng.integers(0, 256, (5, 4, 3), np.uint8)
            staf.Image(picture).save(tmp_path / "data" / label / f"{number}.png")
    return tmp_path / "data"


def test_a_set_is_published_and_resumed(data, tmp_path, capsys):
    out = tmp_path / "set"
    words = ["weights", "--data", str(data), "--out", str(out), "--steps", "2", "--width", "8", "--depth", "2"]
    assert main([*words, "--device", "cpu"]) == 2
    assert "--licence must say under which terms" in capsys.readouterr().err
    words += ["--licence", "CC0", "--device", "cpu"]
    (data / "dog" / "broken.png").write_bytes(b"no picture")
    assert main(words) == 0
    assert "broken failed" in capsys.readouterr().err
    fields = staf.FieldSet(out, target="label")
    assert fields.names == ["cat-0", "cat-1", "dog-0", "dog-1"]
    assert [fields[number][1] for number in range(4)] == ["cat", "cat", "dog", "dog"]
    card = (out / "README.md").read_text()
    assert "4 networks of" in card
    assert "CC0" in card
    assert "CC0" in (out / "LICENCE.txt").read_text()
    for line in (out / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    shards = {path: path.stat().st_mtime_ns for path in (out / "shards").iterdir()}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "shards").iterdir()} == shards


def test_faces_are_prepared_as_in_the_paper(tmp_path):
    folder = tmp_path / "celeba"
    folder.mkdir()
    staf.Image(np.zeros((218, 178, 3), np.uint8)).save(folder / "000001.png")
    words = ["weights", "--data", str(folder), "--out", str(tmp_path / "set"), "--steps", "1", "--width", "4"]
    assert main([*words, "--depth", "2", "--device", "cpu"]) == 0
    (entry,) = staf.FieldSet(tmp_path / "set").entries
    assert entry.signal["shape"] == [128, 128]
    assert "non-commercial research" in (tmp_path / "set" / "LICENCE.txt").read_text()
