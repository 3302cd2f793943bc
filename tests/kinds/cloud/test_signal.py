from __future__ import annotations

import numpy as np
import pytest

import staf
from staf.kinds.cloud.normals import estimated_normals
from staf.signals import SignalError

pytest.importorskip("point_cloud_utils")


def ball(count: int = 400, centre=(10.0, -5.0, 2.0), radius: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    normals = np.random.default_rng(0).normal(size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.array(centre) + radius * normals, normals


def ply(points: np.ndarray, normals: np.ndarray | None, binary: bool, comment: int = 0) -> bytes:
    rows = points if normals is None else np.concatenate([points, normals], 1)
    names = ("x", "y", "z", "nx", "ny", "nz")[: rows.shape[1]]
    lines = ["ply", f"format {'binary_little_endian' if binary else 'ascii'} 1.0", *["comment long" * 9] * comment]
    lines += [f"element vertex {len(rows)}", "property uchar red", *(f"property float {name}" for name in names)]
    head = "\n".join([*lines, "end_header\n"]).encode()
    if not binary:
        return head + b"".join(f"7 {' '.join(map(str, row))}\n".encode() for row in rows)
    kind = np.dtype([("red", "u1"), *((name, "<f4") for name in names)])
    table = np.zeros(len(rows), kind)
    for name, column in zip(names, rows.T, strict=True):
        table[name] = column
    return head + table.tobytes()


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("comment", [0, 10])
def test_ply_files_without_faces_are_clouds(tmp_path, binary, comment):
    points, normals = ball()
    path = tmp_path / "ball.ply"
    path.write_bytes(ply(points, normals, binary, comment))
    cloud = staf.open(path)
    assert (cloud.kind, cloud.name, cloud.shape) == ("cloud", "ball", (400,))
    assert np.allclose(cloud.array, points, atol=1e-5)
    assert np.allclose(cloud.normals, normals, atol=1e-5)
    # The mesh of a file with faces stays a shape, and can be taken as a cloud.
    mesh = staf.Shape.sphere().save(tmp_path / "mesh.ply")
    assert staf.open(mesh).kind == "shape"
    assert staf.open(mesh, kind="cloud").count == 642


@pytest.mark.parametrize("binary", [False, True])
def test_other_elements_may_stand_before_the_points_of_a_ply_file(tmp_path, binary):
    points, _ = ball(20)
    content = ply(points, None, binary)
    lines = b"element camera 2\nproperty short id\nproperty float angle\nelement vertex"
    head, body = content.replace(b"element vertex", lines, 1).split(b"end_header\n", 1)
    before = (
        np.array([(1, 0.5), (2, 0.25)], [("id", "<i2"), ("angle", "<f4")]).tobytes() if binary else b"1 0.5\n2 0.25\n"
    )
    path = tmp_path / "a.ply"
    path.write_bytes(head + b"end_header\n" + before + body)
    assert np.allclose(staf.open(path).array, points, atol=1e-5)


def test_text_and_arrays_are_clouds_too(tmp_path):
    points, normals = ball(20)
    np.savetxt(tmp_path / "a.xyz", np.concatenate([points, normals], 1))
    assert np.allclose(staf.open(tmp_path / "a.xyz").normals, normals)
    assert staf.open(points, kind="cloud").shape == (20,)
    with pytest.raises(SignalError, match=r"must have shape \(n, 3\), or \(n, 6\)"):
        staf.open(points[:, :2], kind="cloud")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (ply(*ball(30), True)[:-5], "a.ply", "29 of 30 points are there"),
        (ply(*ball(30), False)[:-40], "a.ply", "damaged"),
        (b"ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n", "a.ply", "x, y and z"),
        (b"1 2\n3 4\n", "a.xyz", "3 numbers, or 6 with normals, got 2"),
        (b"1 2 3\n4 5\n", "a.xyz", "no readable XYZ"),
        (b"# nothing\n", "a.xyz", "it has no points"),
        (b"1 2 nan\n3 4 5\n", "a.xyz", "1 of 2 points are NaN"),
        (b"1 2 3\n1 2 3\n", "a.xyz", "must be at two places or more, got 2 at one place"),
        (ply(*ball(0), False), "a.ply", "it has no points"),
        (b"1 2 3\n1 2 1e99\n", "a.xyz", r"points must have coordinates of at most 1e\+32, got 1e\+99"),
        (b"0 0 0\n0 0 1e-99\n", "a.xyz", "points must spread over at least 1e-32, got 1e-99"),
        (b"", "a.xyz", "the file is empty"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path, content, name, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SignalError, match=message) as caught:
        staf.open(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_cloud_without_normals_says_what_to_do_and_can_estimate_them():
    points, normals = ball(800)
    cloud = staf.PointCloud(points)
    with pytest.raises(SignalError, match=r"has no normals.*--estimate-normals"):
        staf.fit(cloud, steps=1, progress=False)
    found = cloud.with_estimated_normals()
    assert ((found.normals * normals).sum(1) > 0.9).all()
    assert "estimated" in found.notes[-1]
    # Two bodies have two outsides.
    two = np.concatenate([points, points + np.array([20.0, 0, 0])])
    assert ((estimated_normals(two) * np.concatenate([normals] * 2)).sum(1) > 0.9).all()
    with pytest.raises(SignalError, match="at least 4 points"):
        estimated_normals(points[:3])


def test_normals_are_made_unit_and_empty_ones_left_out():
    points, normals = ball(50)
    normals[3] = 0
    cloud = staf.PointCloud(points, 5 * normals)
    assert cloud.count == 49
    assert np.allclose(np.linalg.norm(cloud.normals, axis=1), 1)
    assert cloud.notes == ["1 points without a normal were left out"]
    with pytest.raises(SignalError, match="normals must have the shape"):
        staf.PointCloud(points, normals[:7])


def test_a_mesh_comes_out_in_the_frame_of_the_cloud():
    points, normals = ball()
    cloud = staf.PointCloud(points, normals)
    half = cloud.frame.half
    mesh = cloud.render(lambda x: half * x.norm(dim=1, keepdim=True) - 3, resolution=48).mesh
    assert np.abs(np.linalg.norm(mesh.vertices - cloud.frame.centre, axis=1) - 3).max() < 0.01
    grown = cloud.render(lambda x: half * x.norm(dim=1, keepdim=True) - 3, resolution=48, distance=0.25).mesh
    assert np.abs(np.linalg.norm(grown.vertices - cloud.frame.centre, axis=1) - 3.25).max() < 0.01
    # Normals of the mesh look out.
    assert (((mesh.corners.mean(1) - cloud.frame.centre) * mesh.face_normals()).sum(1) > 0).all()
