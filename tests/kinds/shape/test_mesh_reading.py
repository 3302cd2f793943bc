from __future__ import annotations

import builtins
import socket
import struct

import numpy as np
import pytest

import staf
from staf.kinds import Shape
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.mesh_reading import parse_mesh
from staf.kinds.shape.mesh_writing import WRITERS, write_mesh
from staf.signals import SignalError
from tests.kinds.solids import box, glb, moved, ply_text, sphere, torus

FAR = moved(torus(), 1e-3, (5.25, -7.5, 100.125))


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_every_format_comes_back(suffix, tmp_path):
    shape = staf.open(write_mesh(FAR, tmp_path / f"ring{suffix}"))
    assert isinstance(shape, Shape)
    assert (shape.name, shape.source, shape.notes) == ("ring", str(tmp_path / f"ring{suffix}"), [])
    single = suffix in (".stl", ".glb")
    assert len(shape.mesh.faces) == len(FAR.faces)
    assert np.abs(shape.mesh.corners - FAR.corners).max() <= (1e-5 if single else 0)
    assert np.array_equal(shape.mesh.bounds[0], FAR.bounds[0]) or single


def test_text_forms_are_read(tmp_path):
    (tmp_path / "a.ply").write_bytes(ply_text(box()))
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners)
        + "endloop\nendfacet\n"
        for corners in box().corners
    )
    (tmp_path / "a.stl").write_text(f"solid a\n{facets}endsolid a\n")
    (tmp_path / "quads.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in box().vertices)
        + "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    )
    for name in ("a.ply", "a.stl", "quads.obj"):
        shape = staf.open(tmp_path / name)
        assert shape.watertight, name
        assert (len(shape.mesh.vertices), len(shape.mesh.faces)) == (8, 12), name


def test_a_file_is_told_by_its_bytes(tmp_path):
    write_mesh(box(), tmp_path / "a.ply").rename(tmp_path / "a.png")
    assert staf.open(tmp_path / "a.png").kind == "shape"


def test_nothing_that_a_file_names_is_opened(tmp_path, monkeypatch):
    """Materials, textures and buffers beside the mesh or at an address are left alone."""
    import trimesh

    parse_mesh(ply_text(box()), "ply")
    trimesh.creation.box().export(file_type="glb")
    (tmp_path / "secret.mtl").write_text("newmtl a\nmap_Kd secret.png\n")
    (tmp_path / "secret.png").write_bytes(b"")
    rows = "".join(f"v {x} {y} {z}\n" for x, y, z in box().vertices) + "usemtl a\nvt 0 0\n"
    rows += "".join(f"f {a + 1}/1 {b + 1}/1 {c + 1}/1\n" for a, b, c in box().faces)
    (tmp_path / "a.obj").write_text(f"mtllib secret.mtl\nmtllib http://example.com/x.mtl\nmtllib /etc/passwd\n{rows}")
    (tmp_path / "b.ply").write_bytes(ply_text(box(), "TextureFile secret.png"))
    opened, real = [], builtins.open
    monkeypatch.setattr(builtins, "open", lambda path, *a, **k: opened.append(str(path)) or real(path, *a, **k))

    def refuse(*arguments, **options):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for name in ("a.obj", "b.ply"):
        assert len(staf.open(tmp_path / name).mesh.faces) == 12
    assert not [path for path in opened if "secret" in path or "passwd" in path]


def test_external_buffers_are_refused(tmp_path):
    tree = {"asset": {"version": "2.0"}, "buffers": [{"uri": "../../etc/passwd", "byteLength": 10}]}
    (tmp_path / "a.glb").write_bytes(glb(tree))
    with pytest.raises(SignalError, match=r"refers to '../../etc/passwd', and references to other files"):
        staf.open(tmp_path / "a.glb")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"accessors": [{"count": 10**12, "componentType": 5126, "type": "VEC3"}]}, "announces 1000000000000 elements"),
        ({"accessors": [{"count": -1}]}, "announces -1"),
        ({"accessors": 7}, "accessors of a GLB file must be a list"),
        ({"nodes": [{"children": [1]}, {"children": [0]}]}, "its own ancestor"),
        ({"nodes": [{"children": [1, 1]}, {}]}, "two parents"),
        ({"nodes": [{"children": "x"}]}, "children of a node"),
        ({"meshes": []}, "the mesh is empty|no readable GLB"),
        ({"meshes": [{"primitives": [{}]}]}, "no readable GLB"),
        ({"meshes": [], "nodes": [{"mesh": 3}]}, "no readable GLB"),
        (
            {
                "accessors": [{"count": 20_000}],
                "meshes": [{"primitives": [{"indices": 0}]}],
                "nodes": [{"mesh": 0}] * 20_000,
            },
            "its scene has 400,000,000 corners of faces",
        ),
    ],
)
def test_hostile_scenes_are_refused_before_they_are_built(tree, message):
    with pytest.raises(SignalError, match=message):
        parse_mesh(glb({"asset": {"version": "2.0"}, **tree}), "glb")


def test_deep_nesting_is_one_sentence():
    head = b"[" * 100_000
    with pytest.raises(SignalError, match=r"no readable GLB|no binary glTF"):
        parse_mesh(struct.pack("<4sIII4s", b"glTF", 2, 20 + len(head), len(head), b"JSON") + head, "glb")


@pytest.mark.parametrize("suffix", sorted(WRITERS))
def test_damage_is_one_sentence(suffix, tmp_path):
    whole = write_mesh(sphere(1), tmp_path / f"whole{suffix}").read_bytes()
    random = np.random.default_rng(0)
    for trial in range(25):
        data = bytearray(whole[: int(random.integers(4, len(whole)))])
        if trial % 2:
            for place in random.integers(0, len(data), 8):
                data[place] = int(random.integers(256))
        path = tmp_path / f"bad{suffix}"
        path.write_bytes(data)
        sentence = ""
        try:
            assert np.isfinite(staf.open(path).mesh.vertices).all()
        except SignalError as error:
            sentence = str(error)
        assert not sentence or (sentence.startswith("cannot open") and "\n" not in sentence)


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        (b"ply\nformat ascii 1.0\nelement vertex 0\nelement face 0\nend_header\n", "ply", "empty"),
        (ply_text(Mesh(np.zeros((3, 3)), np.array([[0, 1, 2]]))), "ply", "degenerate"),
        (ply_text(Mesh(np.eye(3), np.zeros((0, 3), int))), "ply", "3 points and no faces: a point cloud"),
        (ply_text(box()).replace(b"vertex 8", b"vertex 80000000000"), "ply", "no readable PLY|vertices"),
        (b"", "obj", "empty|no readable"),
        (b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "obj", "NaN"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "obj", "names vertex|no readable"),
        (b"OFF\n3 1 0\n", "off", "no readable OFF"),
        (b"glTF", "glb", "no readable GLB"),
    ],
)
def test_broken_files_are_one_sentence(data, format, message):
    with pytest.raises(SignalError, match=message):
        parse_mesh(data, format)


def test_more_faces_than_allowed_are_refused(tmp_path):
    path = write_mesh(box(), tmp_path / "a.off")
    with pytest.raises(SignalError, match="12 faces, more than the limit of 5"):
        staf.open(path, max_pixels=5)
