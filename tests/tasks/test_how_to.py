"""The pages on audio, super-resolution and denoising: every Python block runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from staf.kinds import Audio
from tests.tasks.pictures import scene

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("audio.md", {"again.wav", "16k.flac", "part.ogg", "song.safetensors", "long", "long.wav", "comparison.png"}),
        ("super-resolution.md", {"upscaled.png"}),
        ("denoising.md", {"denoised.png"}),
        ("restoration.md", {"restored.png"}),
        ("tomography.md", {"slice.npy"}),
        ("mri.md", {"brought-back.png"}),
        ("gradient-domain.md", {"from-gradients.png", "cloned.png"}),
    ],
)
def test_every_block_runs(page, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    time = np.arange(2400) / 8000
    Audio(np.sin(2 * np.pi * 300 * time) * (1 - time), rate=8000).save("song.wav")
    scene().save("photo.png")
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    exec("\n".join(blocks), {})
    assert {path.name for path in tmp_path.iterdir()} == {"song.wav", "photo.png", *written}


PICTURED = ["audio.md", "super-resolution.md", "denoising.md", "tomography.md", "mri.md", "gradient-domain.md"]


@pytest.mark.parametrize("page", PICTURED)
def test_the_picture_is_there(page):
    links = re.findall(r"!\[.*?\]\((.*?)\)", (PAGES / page).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (PAGES / link).is_file()] == []
