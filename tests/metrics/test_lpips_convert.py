from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from staf.metrics import load_lpips
from staf.metrics.lpips import cache_path
from staf.metrics.lpips_convert import convert, main
from tests.metrics.test_lpips import random_weights


def sources(folder, suffix):
    """AlexNet with its classifier, and the heads under the published package's names."""
    weights = random_weights()
    features = {name: value for name, value in weights.items() if name.startswith("features")}
    features["classifier.1.weight"] = torch.zeros(2, 2)
    heads = {name.replace(".weight", ".model.1.weight"): value for name, value in weights.items() if "lin" in name}
    paths = []
    for name, tensors in (("alexnet", features), ("heads", heads)):
        path = folder / f"{name}{suffix}"
        if suffix == ".npz":
            np.savez(path, **{key: value.numpy() for key, value in tensors.items()})
        elif suffix == ".safetensors":
            from safetensors.torch import save_file

            save_file(tensors, path)
        else:
            torch.save(tensors, path)
        paths.append(path)
    return paths


@pytest.mark.parametrize("suffix", [".npz", ".pth", ".pt", ".safetensors"])
def test_the_file_holds_the_weights(tmp_path, suffix):
    output = convert(*sources(tmp_path, suffix), tmp_path / "out" / "w.safetensors")
    model = load_lpips(output)
    weights = random_weights()
    assert torch.equal(model.features_0_weight, weights["features.0.weight"])
    assert torch.equal(model.lin4_weight, weights["lin4.weight"])
    assert [entry.name for entry in output.parent.iterdir()] == ["w.safetensors"]


def test_the_default_place_is_where_it_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STAF_LPIPS_WEIGHTS", raising=False)
    assert convert(*sources(tmp_path, ".npz")) == cache_path()
    assert load_lpips() is not None


def test_the_command(tmp_path, capsys):
    output = tmp_path / "w.safetensors"
    features, heads = (str(path) for path in sources(tmp_path, ".npz"))
    assert main([features, heads, str(output)]) == 0
    assert capsys.readouterr().out.strip() == str(output)
    assert main([features, str(tmp_path / "no.npz"), str(output)]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main([features, features, str(output)]) == 2
    assert "must hold 'lin0.weight'" in capsys.readouterr().err


def test_the_module_runs_by_name():
    command = [sys.executable, "-m", "staf.metrics.lpips_convert", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "alex.pth" in done.stdout


@pytest.mark.parametrize("suffix", [".pth", ".npz"])
def test_no_code_in_a_source_is_run(tmp_path, suffix, capsys):
    trapped = tmp_path / f"trap{suffix}"
    if suffix == ".npz":
        np.savez(trapped, trap=np.array([Trap()], dtype=object))
    else:
        torch.save({"trap": Trap()}, trapped)
    assert main([str(trapped), str(trapped), str(tmp_path / "w")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Trap.sprung
    assert not (tmp_path / "w").exists()


def test_what_is_no_dictionary_of_tensors_is_refused(tmp_path):
    torch.save([1, 2], tmp_path / "a.pth")
    with pytest.raises(ValueError, match="dictionary of tensors, got list"):
        convert(tmp_path / "a.pth", tmp_path / "a.pth")
    (tmp_path / "a.bin").touch()
    with pytest.raises(ValueError, match="are read from"):
        convert(tmp_path / "a.bin", tmp_path / "a.bin")


class Trap:
    sprung = False

    @staticmethod
    def spring() -> None:
        Trap.sprung = True

    def __reduce__(self):
        return Trap.spring, ()
