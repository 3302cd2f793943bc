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


def test_files_that_hold_something_else_are_said_in_one_line(tmp_path, capsys):
    def said(*words):
        assert main((*words, "--folder", str(tmp_path / "r"), "--device", "cpu")) == 2
        return capsys.readouterr().err

    names = ("other.npz", "text.npz", "array.npz", "volume.npy")
    other, text, array, volume = (str(tmp_path / name) for name in names)
    np.savez(other, a=np.zeros(3))
    np.save(volume, np.zeros(3))
    (tmp_path / "volume.npy").rename(array)
    (tmp_path / "text.npz").write_text("no archive")
    np.save(volume, np.zeros((3, 3, 3, 3, 3), np.float32))
    for wrong in (other, text, array):
        assert said("nerf", "--scenes", wrong) == (
            f"paper: cannot open {wrong!r}: it is not a file that `python -m paper.data.scenes` has written\n"
        )
        assert said("shapes", "--shapes", wrong) == (
            f"paper: cannot open {wrong!r}: it is not a file that `paper.data.shapes.pack` has written\n"
        )
    nowhere = str(tmp_path / "nowhere.npz")
    assert said("shapes", "--shapes", nowhere) == f"paper: cannot open {nowhere!r}: there is no such file\n"
    assert said("nerf", "--scenes", str(tmp_path)).startswith(f"paper: cannot open {str(tmp_path)!r}: it has neither")
    assert said("kodak", "--images", volume).startswith(f"paper: --images must be images, got {volume!r} of kind ")


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
