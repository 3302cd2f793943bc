from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape.mesh_writing import WRITERS, write_mesh
from staf.signals import SignalError
from tests.kinds.solids import box, moved, torus


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_other_programs_read_it(suffix, tmp_path):
    import trimesh

    mesh = moved(torus(), 3.0, (1, 2, 3))
    loaded = trimesh.load_mesh(write_mesh(mesh, tmp_path / f"a{suffix}"))
    assert loaded.is_watertight
    assert loaded.volume == pytest.approx(27 * trimesh.Trimesh(*torus()).volume, rel=1e-5)
    assert np.allclose(loaded.bounds, mesh.bounds, atol=1e-5)


def test_a_failed_write_leaves_the_file(tmp_path):
    path = write_mesh(box(), tmp_path / "a.ply")
    before = path.read_bytes()
    with pytest.raises(SignalError, match="does not exist"):
        write_mesh(box(), tmp_path / "missing" / "a.ply")
    with pytest.raises(SignalError, match=r"written as .ply, .obj, .stl, .glb, .off, got 'a.fbx'"):
        write_mesh(box(), tmp_path / "a.fbx")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.ply"]
