from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from paper.__main__ import main
from paper.data import datasets

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "experiments.md"


def downloaded(address, path, checksum):
    """A small picture in place of the published one."""
    from staf.kinds import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image(np.random.default_rng(len(path.name)).integers(0, 256, (8, 12, 3), np.uint8)).save(path)
    return path


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("photo.npy", np.random.default_rng(0).integers(0, 256, (10, 8, 3), np.uint8))
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)
    assert len(commands) == 7
    monkeypatch.setattr(datasets, "download", downloaded)
    for command in commands:
        start, words = shlex.split(command)[:3], shlex.split(command)[3:]
        if start == ["python", "-m", "paper.data.datasets"]:
            assert datasets.main(words) == 0
            continue
        assert start == ["python", "-m", "paper"]
        if words[0] == "kodak":
            words += [
                "--workers",
                "1",
                "--device",
                "cpu",
                "--iterations",
                "1",
                "--rows",
                "siren",
                "--protocols",
                "ours",
            ]
            assert main([*words, "--pick", "kodim24"]) == 0
            continue
        options = [] if words == ["--list"] else ["--workers", "1", "--device", "cpu", "--steps", "3"]
        assert main([*words, *options]) == 0
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    # Dataclasses look their module up by name.
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    exec("\n".join(blocks).replace("steps=20", "steps=3"), module.__dict__)
    assert len(list((tmp_path / "results" / "widths").glob("*.json"))) == 2
    capsys.readouterr()
