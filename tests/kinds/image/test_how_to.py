from __future__ import annotations

import re
from pathlib import Path

from staf.kinds import Image
from tests.kinds.pictures import pixels

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "images.md"


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image(pixels(60, 80, 4)).save("photo.png")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec("\n".join(blocks), {})
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"photo.png", "copy.tif", "4x.png", "detail.png", "huge.png"}
    said = capsys.readouterr().out
    assert "Image('photo', 80x60 RGBA, uint8)" in said
    assert "note: alpha is fitted as channel 4" in said
