"""`python -m paper`: the list, quick runs of every experiment on a bare machine, and data from a folder."""

from __future__ import annotations

import numpy as np
import pytest

from paper import EXPERIMENTS
from paper.__main__ import load, main
from paper.runner import load_results


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_nothing_can_be_drawn_from_an_empty_folder(name, tmp_path, capsys):
    assert main([name, "--draw-only", "--folder", str(tmp_path)]) == 2
    assert "no finished results" in capsys.readouterr().err
    assert name == load(name).name


def test_data_is_found_in_a_folder(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "wave.npy", np.sin(np.arange(400) * 0.1).astype(np.float32))
    words = ["audio", "--quick", "--models", "siren", "--protocols", "ours", "--no-figures", "--workers", "1"]
    words += ["--device", "cpu", "--folder", str(tmp_path / "r"), "--data", str(tmp_path / "data")]
    assert main(words) == 0
    (result,) = load_results(tmp_path / "r", "audio")
    assert result.data_name == "wave"
    assert main([*words, "--recording", "other.npy"]) == 2
    assert "--data and --recording both name the data" in capsys.readouterr().err
    np.save(tmp_path / "data" / "second.npy", np.zeros(9))
    assert main(words) == 2
    assert "--data must hold one recording" in capsys.readouterr().err
    words[0] = "shapes"
    assert main(words) == 2
    assert "--data must hold a file of type .ply" in capsys.readouterr().err
