from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Shape, from_metadata
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.measures import surface_measures
from staf.kinds.shape.mesh import Mesh
from staf.signals import SignalError
from tests.kinds.solids import box, moved, sphere, torus, volume_of

FAR = moved(torus(), 3.0, (100.0, -20.0, 7.0))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_grid_lies_where_the_mesh_lies():
    shape = Shape(FAR, resolution=40)
    frame = shape.frame
    assert (frame.centre, frame.half) == ((100.0, -20.0, 7.0), pytest.approx(4.2))
    inside = np.argwhere(shape.volume.array())
    world = frame.from_index(inside.astype(float))
    assert (world.min(0) >= FAR.bounds[0]).all()
    assert (world.max(0) <= FAR.bounds[1]).all()
    assert len(inside) * (2 * frame.half / 40) ** 3 == pytest.approx(volume_of(FAR), rel=0.02)
    assert np.allclose(frame.to_index(world), inside)
    assert np.allclose(frame.from_cube(frame.to_cube(world)), world)
    assert np.abs(frame.to_cube(FAR.vertices)).max() == pytest.approx(1)
    for convention in ("centres", "ends"):
        assert np.allclose(frame.to_field(world, convention), shape.coordinates(convention)[shape.values()[:, 0] > 0])


def test_the_grid_is_cropped_to_what_is_inside():
    shape = Shape(FAR, resolution=40)
    volume = shape.volume.array()
    assert shape.shape == volume.shape == (40, 40, shape.shape[2])
    assert 10 <= shape.shape[2] <= 12
    for axis in range(3):
        assert volume.take(0, axis).any()
        assert volume.take(-1, axis).any()


def test_values_are_bits_in_grid_order():
    shape = Shape(FAR, resolution=24)
    values = shape.values()
    assert (values.dtype, values.shape) == (torch.float32, (shape.points, 1))
    assert values[:, 0].numpy().tolist() == shape.volume.array().ravel().tolist()
    index = torch.tensor([5, 0, shape.points - 1])
    assert torch.equal(shape.values(index), values[index])


@pytest.mark.parametrize("convention", ["centres", "ends"])
@pytest.mark.parametrize("resolution", [None, 30, 61])
def test_a_field_is_meshed_in_the_frame_of_the_input(convention, resolution):
    shape = Shape(FAR, resolution=40)
    frame = shape.frame
    low = torch.tensor(frame.to_cube(frame.from_index(np.zeros((1, 3)))), dtype=torch.float32)
    high = torch.tensor(frame.to_cube(frame.from_index(np.array([shape.shape]) - 1.0)), dtype=torch.float32)
    margin = (high - low) / (torch.tensor([shape.shape]) - 1) / 2 if convention == "centres" else 0

    def predict(points):
        cube = low - margin + (points + 1) / 2 * (high - low + 2 * margin)
        x, y, z = (cube * frame.half / 3).unbind(1)
        return (0.5 + 0.4 - torch.sqrt((torch.hypot(x, y) - 1).square() + z.square()))[:, None]

    mesh = shape.render(predict, resolution=resolution, convention=convention).mesh
    x, y, z = ((mesh.vertices - (100.0, -20.0, 7.0)) / 3).T
    ring = np.hypot(np.hypot(x, y) - 1, z)
    # Linear interpolation is off by the curvature; beyond the box the surface may be half a sample off.
    assert np.median(np.abs(ring - 0.4)) < 0.002
    assert np.abs(ring - 0.4).max() < 1.5 * 4.2 / 3 / (resolution or 40)
    assert Shape(mesh, resolution=16).watertight


def test_resolution_sets_the_detail():
    shape = Shape(sphere(3), resolution=16)
    field = lambda points: 1.3 - points.norm(dim=1, keepdim=True)  # noqa: E731
    coarse, fine = (len(shape.render(field, resolution=n).mesh.faces) for n in (16, 48))
    assert 7 < fine / coarse < 11
    higher = shape.render(field, resolution=32, level=0.8).mesh
    assert np.linalg.norm(higher.vertices, axis=1).max() < 0.51


def test_values_become_the_surface_again():
    shape = Shape(FAR, resolution=40)
    again = shape.from_values(shape.values())
    assert again.watertight
    assert volume_of(again.mesh) == pytest.approx(volume_of(FAR), rel=0.02)
    assert np.array_equal(again.mesh.vertices, shape.voxel_surface().mesh.vertices)
    with pytest.raises(SignalError, match="values must have shape"):
        shape.from_values(torch.zeros(3, 1))


def test_fields_without_a_surface_are_said():
    shape = Shape(box(), resolution=8)
    with pytest.raises(SignalError, match=r"no surface at 0.5: its values are all 0.2; fit it longer"):
        shape.render(lambda points: torch.full((len(points), 1), 0.2))
    with pytest.raises(SignalError, match="NaN"):
        shape.render(lambda points: torch.full((len(points), 1), float("nan")))
    with pytest.raises(SignalError, match="resolution must be"):
        shape.render(lambda points: points[:, :1], resolution=1)


def test_an_empty_shape_renders_like_the_one_that_wrote_it():
    shape = Shape(FAR, resolution=24, name="ring")
    empty = from_metadata(json.loads(json.dumps(shape.metadata())))
    field = lambda points: 1 - points.norm(dim=1, keepdim=True)  # noqa: E731
    assert np.array_equal(empty.render(field).mesh.vertices, shape.render(field).mesh.vertices)
    assert empty.shape == shape.shape
    with pytest.raises(SignalError, match="holds no mesh"):
        _ = empty.mesh


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "image"}, "kind 'shape'"),
        ({"frame": {}}, "incomplete"),
        (
            {"frame": {"centre": [0, 0, 0], "half": -1, "resolution": 4, "offset": [0] * 3, "shape": [4] * 3}},
            "positive",
        ),
        (
            {"frame": {"centre": [0, 0, 0], "half": 1, "resolution": 4, "offset": [0] * 3, "shape": [9] * 3}},
            "keep a box",
        ),
    ],
)
def test_bad_metadata_is_refused(change, message):
    with pytest.raises(SignalError, match=message):
        Shape.from_metadata({**Shape(box(), resolution=8).metadata(), **change})


def test_an_open_surface_is_refused_with_what_to_do():
    ball = sphere(2)
    bowl = Shape(Mesh(ball.vertices, ball.faces[3:]), resolution=16, name="bowl")
    assert not bowl.watertight
    message = r"'bowl' is not watertight: \d+ of 480 edges .* shape.repaired\(\) .* shape.sampled\(allow_open=True\)"
    with pytest.raises(SignalError, match=message):
        _ = bowl.volume
    whole = Shape(ball, resolution=16).volume
    for closed in (bowl.repaired(), bowl.sampled(allow_open=True)):
        assert np.mean(closed.volume.array() != whole.array()) < 0.02
    assert "closed with" in bowl.repaired().notes[-1]


@pytest.mark.parametrize("allow_open", [False, True])
def test_one_triangle_holds_nothing(allow_open):
    shape = Shape.from_arrays(np.eye(3), np.array([[0, 1, 2]]), resolution=16, allow_open=allow_open)
    message = (
        "holds no voxel at resolution 16" if allow_open else r"not watertight: .*it has 1, and a closed one needs 4"
    )
    with pytest.raises(SignalError, match=message):
        _ = shape.volume


def test_a_flat_closed_surface_holds_nothing():
    sheet = Shape.from_arrays(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 1]]))
    assert sheet.watertight
    with pytest.raises(SignalError, match="it is flat, and encloses nothing"):
        _ = sheet.volume


def test_faces_that_disagree_are_noted():
    turned = box().faces.copy()
    turned[3] = turned[3, ::-1]
    shape = Shape(Mesh(box().vertices, turned), resolution=8)
    assert "parity" in shape.notes[0]
    assert shape.volume.count() == 8**3


def test_open_takes_a_shape_and_sampling_keeps_its_name(tmp_path):
    shape = Shape(FAR, name="ring")
    assert staf.open(shape, name="other").name == "other"
    assert shape.sampled(64).resolution == 64
    assert shape.sampled(64).name == "ring"
    shape.save(tmp_path / "ring.ply")
    assert np.array_equal(staf.open(tmp_path / "ring.ply").mesh.vertices, FAR.vertices)


@pytest.mark.parametrize("convention", ["centres", "ends"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_a_page_places_coordinates_in_the_frame_of_the_mesh(convention, size):
    frame = Frame((3 * size, -size, 0.0), size, 8, (0, 2, 3), (8, 4, 1))
    placed = frame.placed(convention)
    coordinates = np.array([[-1.0, 0.5, 0.0], [0.3, 1.0, -1.0]])
    world = coordinates * placed["scale"] + placed["shift"]
    assert np.allclose(frame.to_field(world, convention), coordinates)


def test_lengths_of_a_coordinate_are_those_of_the_mesh():
    shape = Shape(FAR, resolution=42)
    units = np.array(shape.coordinate_units())
    step = np.diff(shape.frame.to_field(np.stack([FAR.vertices[0], FAR.vertices[0] + 1])), axis=0)[0]
    assert units == pytest.approx(1 / step)


@pytest.mark.parametrize("mesh", [None, np.zeros((3, 3)), (np.eye(3), np.array([[0, 1, 2]]))])
def test_a_shape_is_made_of_a_mesh(mesh):
    with pytest.raises(SignalError, match=r"mesh must be a Mesh, got \w+; staf.Shape.from_arrays takes arrays"):
        Shape(mesh)


@pytest.mark.parametrize("size", [1e-31, 1e31])
def test_coordinates_of_any_unit_are_fitted_and_come_back(size):
    mesh = Mesh(sphere(1).vertices * size, sphere(1).faces)
    values = Shape(mesh, resolution=12)
    again = values.render(lambda x: 1 - x.norm(dim=-1, keepdim=True))
    assert np.ptp(again.mesh.vertices, axis=0) / size == pytest.approx(np.ones(3), abs=0.1)
    assert surface_measures(again.mesh, mesh, samples=500)["normal_consistency"] > 0.9
