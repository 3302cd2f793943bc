from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from staf.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "grids.md"


def test_every_block_and_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    said = capsys.readouterr().out
    assert "Grid('grid', 24x28x32, 1 channel, int16)" in said
    assert np.load("fine.npy").shape == (48, 56, 64)
    fit, render = re.findall(r"^staf (.*)$", page, flags=re.MULTILINE)
    assert main([*fit.split(), "--steps", "1"]) == 0
    assert main([*render.split(), "--overwrite"]) == 0
    assert np.load("fine.npy").dtype == np.int16
