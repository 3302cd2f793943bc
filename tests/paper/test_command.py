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


def test_a_wrong_name_or_folder_is_said_in_one_line(tmp_path, capsys):
    def said(*words):
        assert main(words) == 2
        return capsys.readouterr().err

    assert said("kodk") == (
        "paper: there is no experiment 'kodk'; did you mean 'kodak'? `python -m paper --list` shows all names\n"
    )
    assert said() == "paper: the name of an experiment is missing. `python -m paper --list` shows all names\n"
    nowhere = str(tmp_path / "nowhere")
    for name in ("kodak", "audio", "shapes", "nerf"):
        assert said(name, "--data", nowhere) == (
            f"paper: --data must be a folder with the data, and there is no {nowhere!r}\n"
        )


def test_what_would_fail_in_every_run_is_said_once_before_any(tmp_path, capsys):
    quick = ["kodak", "--quick", "--workers", "1", "--no-progress", "--no-figures"]
    assert main([*quick, "--device", "tpu", "--folder", str(tmp_path / "r")]) == 2
    assert "device must be 'cpu', 'cuda' or 'cuda:N', got 'tpu'" in capsys.readouterr().err
    assert not (tmp_path / "r").exists(), "nothing is recorded, so that a right device is not told of a wrong one"
    (tmp_path / "file").write_text("")
    assert main([*quick, "--folder", str(tmp_path / "file")]) == 2
    assert f"cannot write {tmp_path / 'file'}" in capsys.readouterr().err
    assert main(["kodak", "--folder", str(tmp_path / "r")]) == 2
    said = capsys.readouterr().err
    assert "kodak needs data: the 24 Kodak images. Name their folder with --data" in said
    assert "paper.data.datasets --list" in said
    for option in ("--iterations", "--width", "--workers"):
        with pytest.raises(SystemExit):
            main([*quick, option, "0"])
        assert f"argument {option}: must be a whole number of at least 1, got '0'" in capsys.readouterr().err
    assert main(["rows", str(tmp_path / "none.txt")]) == 2
    assert "none.txt" in capsys.readouterr().err


def test_a_failure_is_kept_and_the_command_says_how_to_run_it_again(tmp_path, capsys):
    words = ["kodak", "--quick", "--rows", "wire", "--protocols", "released", "--width", "65537", "--workers", "1"]
    words += ["--device", "cpu", "--no-progress", "--no-figures", "--folder", str(tmp_path / "r")]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "wire(): width must be from 1 to 65536, got 65537" in said
    assert "rerun with --retry" in said
