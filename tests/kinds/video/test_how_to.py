from __future__ import annotations

import re
from pathlib import Path

import pytest

import staf
from staf.cli import main
from tests.kinds.video.clips import clip

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "video.md"


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    assert "Video('video', 20 frames of 32x24, grey, 2 s at 10 frames a second)" in capsys.readouterr().out
    assert staf.open("part.gif").shape == (15, 24, 32)


def test_every_command_of_the_page_runs(tmp_path, monkeypatch):
    pytest.importorskip("av")
    monkeypatch.chdir(tmp_path)
    clip(24, 8, 8).save("clip.mp4")
    commands = re.findall(r"^\$ staf (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert main(command.split() + ["--steps", "1"] * command.startswith("fit")) == 0, command
    assert staf.open("smooth.mp4").rate == 60
    assert staf.open("slow.mp4").seconds == pytest.approx(4 * staf.open("clip.mp4").seconds)
