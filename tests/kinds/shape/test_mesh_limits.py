"""Meshes that announce more than they hold, that were cut, and scenes that would unfold without end."""

from __future__ import annotations

import base64
import io
import struct

import numpy as np
import pytest
import trimesh

import staf
from staf.kinds.shape.mesh_reading import parse_mesh
from staf.kinds.shape.mesh_writing import WRITERS, write_mesh
from staf.signals import SignalError
from tests.kinds.bounded import bounded
from tests.kinds.solids import box, glb, ply_text, sphere, volume_of


def refused(data: bytes, format: str, message: str) -> None:
    with bounded(), pytest.raises(SignalError, match=message) as caught:
        parse_mesh(data, format)
    assert "\n" not in str(caught.value)


def scene(nodes: list[dict], **more) -> bytes:
    """A box in a GLB, and nodes that put it somewhere."""
    mesh = box()
    binary = mesh.vertices.astype("<f4").tobytes() + mesh.faces.astype("<u2").tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(binary)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 96},
            {"buffer": 0, "byteOffset": 96, "byteLength": 72},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "nodes": nodes,
        **more,
    }
    return glb(tree, binary)


@pytest.mark.parametrize("length", [2_000, 20_000])
def test_long_chains_of_nodes_are_followed_at_once(length):
    chain = [{"children": [place + 1], "translation": [1, 0, 0]} for place in range(length)]
    with bounded():
        mesh, _ = parse_mesh(scene([*chain, {"mesh": 0}]), "glb")
    assert mesh.bounds[0].tolist() == [length, 0, 0]


def test_every_node_of_a_wide_scene_is_placed():
    nodes = [{"mesh": 0, "translation": [3 * place, 0, 0]} for place in range(10_000)]
    with bounded(decoded=100):
        mesh, _ = parse_mesh(scene(nodes), "glb")
    assert len(mesh.faces) == 12 * 10_000


def test_a_mesh_in_too_many_places_is_refused():
    tree = {
        "asset": {"version": "2.0"},
        "accessors": [{"count": 20_000, "componentType": 5126, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}] * 14_700,
    }
    refused(glb(tree, bytes(240_000)), "glb", "its scene has 294,000,000 corners of faces, more than")
    # Few faces, and many vertices with each.
    tree["accessors"].append({"count": 3, "componentType": 5125, "type": "SCALAR"})
    tree["meshes"][0]["primitives"][0]["indices"] = 1
    refused(glb(tree, bytes(240_000)), "glb", "its scene has 294,000,000 corners of faces, more than")


def test_numbers_that_are_not_there_are_refused():
    size = 100_000_000
    tree = {
        "asset": {"version": "2.0"},
        "accessors": [{"count": 1_000_000, "componentType": 5126, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "extras": " " * 1_000_000,
    }
    refused(glb(tree), "glb", "accessor 0 announces 1,000,000 elements and has no data")
    tree |= {"buffers": [{"byteLength": size}], "bufferViews": [{"buffer": 0, "byteLength": size}]}
    tree["accessors"][0]["bufferView"] = 0
    refused(glb(tree, bytes(100)), "glb", "accessor 0 announces 1,000,000 elements, and not all are there")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accessors": [{"count": 8, "componentType": 5126, "type": "VEC3", "sparse": {}}] * 2}, "sparse"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 96, "byteStride": 4}]}, "not all are there"),
        ({"bufferViews": [{"buffer": 7, "byteLength": 96}]}, "names entry 7 of 1"),
        ({"scenes": [{"nodes": [0, 0]}]}, "other nodes than those without a parent"),
        ({"nodes": [{"mesh": 0, "matrix": [1, 2]}]}, "a node's place must be 16 numbers"),
        ({"nodes": [{"mesh": 0, "scale": ["x", 1, 1]}]}, "a node's place must be 3 numbers"),
        ({"nodes": [{"mesh": True}]}, "names entry True of 1"),
        ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "compressed with Draco"),
        ({"buffers": [{"uri": "data:;base64,???"}]}, "no base64"),
        ({"buffers": [{"uri": "http://example.com/a.bin"}]}, "references to other files are not followed"),
    ],
)
def test_broken_scenes_are_one_sentence(change, message):
    nodes = change.pop("nodes", [{"mesh": 0}])
    refused(scene(nodes, **change), "glb", message)


def test_what_glb_can_say_is_understood():
    mirrored = parse_mesh(scene([{"mesh": 0, "scale": [-2, 1, 1]}]), "glb")[0]
    assert mirrored.bounds[0].tolist() == [-2, 0, 0]
    assert volume_of(mirrored) == pytest.approx(2)
    turn = parse_mesh(scene([{"mesh": 0, "rotation": [0, 0, 2**-0.5, 2**-0.5]}]), "glb")[0]
    assert np.allclose(turn.bounds[0], [-1, 0, 0])
    matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1]
    nodes = [{"children": [1], "matrix": matrix}, {"mesh": 0, "translation": [1, 1, 1]}, {"mesh": 0}]
    both = parse_mesh(scene(nodes, scenes=[{"nodes": [0]}, {"nodes": [0, 2]}], scene=1), "glb")[0]
    assert (both.bounds[0].tolist(), both.bounds[1].tolist(), len(both.faces)) == ([0, 0, 0], [7, 8, 9], 24)
    assert len(parse_mesh(scene(nodes, scenes=[{"nodes": [0]}]), "glb")[0].faces) == 12
    # A strip of four corners, a fan of four, normalised bytes, and a buffer inside the description.
    corners = np.array([[0, 0, 0], [127, 0, 0], [0, 127, 0], [127, 127, 0], [0, 0, 127]], "<i1")
    uri = "data:application/octet-stream;base64," + base64.b64encode(corners.tobytes() + bytes([0, 1, 2, 3])).decode()
    tree = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": uri, "byteLength": 19}],
        "bufferViews": [{"buffer": 0, "byteLength": 15}, {"buffer": 0, "byteOffset": 15, "byteLength": 4}],
        "accessors": [
            {"bufferView": 0, "componentType": 5120, "count": 5, "type": "VEC3", "normalized": True},
            {"bufferView": 1, "componentType": 5121, "count": 4, "type": "SCALAR"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": mode} for mode in (0, 5, 6)]}],
    }
    flat = parse_mesh(glb(tree), "glb")[0]
    assert (len(flat.faces), flat.bounds[1].tolist()) == (4, [1, 1, 0])


@pytest.mark.parametrize("format", ["glb", "obj", "off", "ply", "stl"])
def test_scenes_and_solids_agree_with_an_independent_reader(format):
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [4, 5, 6])
    solid = trimesh.creation.torus(2.0, 0.5, major_sections=9, minor_sections=7)
    if format == "glb":
        made = trimesh.Scene()
        for place, matrix in enumerate((turn, np.diag([2.0, 3, 4, 1]), turn @ np.diag([1, 1, 0.5, 1]) @ turn)):
            made.add_geometry(solid, transform=matrix, geom_name="ring", node_name=f"{place}")
        data = made.export(file_type="glb")
    else:
        data = solid.export(file_type=format)
    data = data.encode() if isinstance(data, str) else data
    loaded = trimesh.load_scene(io.BytesIO(data), file_type=format, process=False).to_mesh()
    mesh, _ = parse_mesh(data, format)
    order = lambda corners: corners[np.lexsort(corners.round(6).reshape(-1, 9).T)]  # noqa: E731
    assert np.allclose(order(mesh.corners), order(np.asarray(loaded.vertices)[loaded.faces]), atol=1e-6)


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        (b"OFF\n900000000 900000000 0\n0 0 0\n", "off", "announces 900,000,000 vertices and 900,000,000 faces in"),
        (b"OFF\n-3 1 0\n0 0 0\n", "off", "announces -3 vertices"),
        (
            ply_text(box()).replace(b"face 12", b"face 900000000"),
            "ply",
            "announces 8 of vertex and 900,000,000 of face",
        ),
        (bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(500), "stl", "10 of 4,294,967,295 faces are there"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999999999999999999\n", "obj", "no list of whole numbers"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "obj", "names vertex 0, and they are counted from 1"),
        (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -9\n", "obj", "names vertex -5, and they are counted from 1"),
        (b"v 0 0 0\nv \nv 0 1 0\nf 1 2 3\n", "obj", "1 of 3 vertices have no numbers"),
        (b"v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n", "obj", "not three numbers each"),
    ],
)
def test_announced_counts_are_compared_with_what_is_there(data, format, message):
    refused(data, format, message)


def binary_ply(order: str, rows: list[bytes], count: int | None = None, size: str = "uchar") -> bytes:
    name = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = (
        f"ply\nformat {name} 1.0\nelement vertex 8\nproperty uchar red\nproperty float z\nproperty float y\n"
        f"property float x\nelement face {len(rows) if count is None else count}\nproperty float area\n"
        f"property list {size} int vertex_indices\nproperty list uchar float texcoord\nend_header\n"
    )
    vertices = b"".join(struct.pack(f"{order}B3f", 7, *corner[::-1]) for corner in box().vertices)
    return head.encode() + vertices + b"".join(rows)


def ply_row(order: str, corners: list[int], extra: int, size: str = "B") -> bytes:
    row = struct.pack(f"{order}f{size}{len(corners)}i", 0.5, len(corners), *corners)
    return row + struct.pack(f"{order}B{extra}f", extra, *range(extra))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("mixed", [False, True])
def test_binary_ply_of_any_layout(order, mixed):
    """Other properties between, faces of different sizes, and lists beside the corners."""
    faces = box().faces.tolist()
    rows = [ply_row(order, face, 2 + mixed * place % 2) for place, face in enumerate(faces)]
    if mixed:
        rows[0], rows[1] = ply_row(order, [0, 1, 3, 2], 0), ply_row(order, [], 5)
    mesh, _ = parse_mesh(binary_ply(order, rows), "ply")
    assert (len(mesh.faces), len(mesh.vertices), volume_of(mesh)) == (12, 8, pytest.approx(volume_of(box())))
    for cut in (1, 7, 40):
        refused(binary_ply(order, rows)[:-cut], "ply", r"\d+ of 12 of face are there|announces 8 of vertex")
    refused(binary_ply(order, [ply_row(order, [0, 1, 2], 0, "I")] * 3, 10**6, "uint"), "ply", "announces")
    refused(
        binary_ply(order, [struct.pack(f"{order}fI", 0, 2**32 - 1)], size="uint"), "ply", "0 of 1 of face are there"
    )


@pytest.mark.parametrize("format", ["off", "ply"])
def test_cut_texts_are_said(format, tmp_path):
    whole = ply_text(sphere(1)) if format == "ply" else write_mesh(sphere(1), tmp_path / "a.off").read_bytes()
    body = whole.find(b"end_header") + 12 if format == "ply" else 12
    for kept in np.linspace(body, len(whole) - 6, 40).astype(int):
        refused(whole[:kept], format, "damaged or cut short")


def test_a_text_stl_must_end(tmp_path):
    text = trimesh.creation.box().export(file_type="stl_ascii").encode()
    assert len(parse_mesh(text, "stl")[0].faces) == 12
    assert len(parse_mesh(text.upper(), "stl")[0].faces) == 12
    for kept in range(100, len(text) - 10, 97):
        refused(text[:kept], "stl", "its last line, endsolid, is missing")
    refused(text.replace(b"vertex", b"corner", 1), "stl", "35 corners, and 36 are needed for 12 faces")


@pytest.mark.parametrize("suffix", [".stl", ".glb"])
def test_cut_binaries_are_said(suffix, tmp_path):
    whole = write_mesh(sphere(1), tmp_path / f"a{suffix}").read_bytes()
    for kept in np.linspace(100, len(whole) - 1, 20).astype(int):
        refused(whole[:kept], suffix[1:], "cut short")


def test_bytes_behind_a_binary_stl_are_left_out_and_said(tmp_path):
    path = write_mesh(box(), tmp_path / "a.stl")
    path.write_bytes(path.read_bytes() + b"written by a scanner")
    assert staf.open(path).notes == ["20 bytes behind its last face are left out"]


def test_texts_may_have_what_texts_have():
    """Comments, counts on the first line, polygons with colours, continued lines, corners counted back."""
    off = b"OFF 5 2 0 # counts\n0 0 0\n1 0 0\n\n1 1 0 # a comment\n0 1 0\n0.5 2 0\n5 0 1 2 4 3 255 0 0\n3 0 1 2 0.5\n"
    assert parse_mesh(off, "off")[0].faces.tolist() == [[0, 1, 2], [0, 2, 4], [0, 4, 3], [0, 1, 2]]
    obj = b"# made\no a\nv 0 0 0 1 0 0\nv 1 0 0\nvn 0 0 1\nv 1 1 0\n f  1//1 2//1 \\\n 3//1\nv 0 1 0\nf -4/1 -2 -1\n"
    assert parse_mesh(obj, "obj")[0].faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    ply = ply_text(box()).replace(b"property float x\n", b"property int flag\nproperty float x\n")
    head, body = ply.split(b"end_header\n")
    lines = body.splitlines()
    ply = head + b"end_header\n" + b"\n".join([*(b"9 " + line for line in lines[:8]), b"", *lines[8:]]) + b"\n"
    assert len(parse_mesh(ply, "ply")[0].faces) == 12


def test_huge_files_are_refused_by_their_size_or_first_bytes(tmp_path):
    for suffix in sorted(WRITERS):
        path = tmp_path / f"a{suffix}"
        write_mesh(box(), path)
        with path.open("r+b") as file:
            file.truncate(9 << 30)
        with bounded(), pytest.raises(SignalError, match="bytes, and at most 4,294,967,296 are read"):
            staf.open(path)
    with (tmp_path / "a.obj").open("r+b") as file:
        file.truncate(1 << 30)
    with bounded(), pytest.raises(SignalError, match="it holds zero bytes"):
        staf.open(tmp_path / "a.obj")
