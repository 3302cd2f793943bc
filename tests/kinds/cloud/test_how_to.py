from __future__ import annotations

import re
from pathlib import Path

import pytest

import staf

pytest.importorskip("point_cloud_utils")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "signed-distance.md"


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)), {})
    assert "normal_consistency" in capsys.readouterr().out
    assert staf.open("ball.ply").kind == "shape"
