from __future__ import annotations

import re
from pathlib import Path

from staf.kinds.shape.mesh_writing import write_mesh
from tests.kinds.solids import torus

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "shapes.md"


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_mesh(torus(), "bunny.ply")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec("\n".join(blocks), {})
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"bunny.ply", "again.ply", "finer.glb", "bunny.png", "comparison.png", "cache"}
    said = capsys.readouterr().out
    assert "Shape('bunny', 288 vertices, 576 faces, 256 voxels along the longest side)" in said
    assert "'open bunny' is not watertight" in said
