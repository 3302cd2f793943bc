"""A mesh drawn with light and shade by numpy alone: no screen, no graphics library."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from staf._extras import need
from staf.kinds.shape import scanline
from staf.kinds.shape.mesh import Mesh
from staf.signals.errors import SignalError

CLAY = (0.86, 0.82, 0.77)
# Directions towards the lights in the camera's frame (right, up, towards the eye), and their strengths.
LIGHTS = (((-0.45, 0.65, 0.62), 0.70), ((0.75, 0.10, 0.45), 0.22), ((0.0, -0.6, 0.3), 0.10))
AMBIENT = 0.16
# How much of the picture's side the mesh or its box takes.
FILLED = 0.94
# Samples a pixel is averaged over, along each axis.
SAMPLES = 2
# At silhouettes smooth normals turn away from the eye: beyond this cosine a sample has its own face's normal.
TURNED = 0.4
# Faces that meet with a smaller cosine of their normals, at more than 40 degrees, meet in an edge and not in a curve.
CREASE = 0.766
# Corners where more faces meet, such as the tip of a cone, have the normal of each face.
MOST_MEETING = 64


class Seen(NamedTuple):
    """What is in front at each sample of a picture: (pixels, pixels), and (hits, 3) where something is."""

    hit: np.ndarray
    face: np.ndarray
    weights: np.ndarray
    normals: np.ndarray
    light: np.ndarray


def draw(
    mesh: Mesh,
    *,
    size: int = 512,
    azimuth: float = 30.0,
    elevation: float = 15.0,
    up: str = "y",
    colours: np.ndarray | None = None,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    zoom: float = 1.0,
    look_at: np.ndarray | None = None,
) -> np.ndarray:
    """A picture of the mesh: uint8 (size, size, 4), transparent where nothing is seen.

    Orthographic, seen from `azimuth` degrees around the `up` axis and `elevation` degrees above, with smooth shading,
    three lights, a soft occlusion in hollows, and 4 samples a pixel. `colours` (n, 3) in [0, 1] paint the vertices.
    `bounds` (low, high) frames the view on another mesh's box, so that two pictures match; `zoom` magnifies around
    `look_at`, by default the middle of the box.

    >>> from staf.kinds import Shape
    >>> picture = draw(Shape.sphere(subdivisions=2).mesh, size=32)
    >>> picture.shape, picture[16, 16, 3].item(), picture[0, 0, 3].item()
    ((32, 32, 4), 255, 0)
    """
    seen = look(mesh, size=size, azimuth=azimuth, elevation=elevation, up=up, bounds=bounds, zoom=zoom, look_at=look_at)
    return paint(mesh, seen, colours)


def look(
    mesh: Mesh,
    *,
    size: int = 512,
    azimuth: float = 30.0,
    elevation: float = 15.0,
    up: str = "y",
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    zoom: float = 1.0,
    look_at: np.ndarray | None = None,
) -> Seen:
    """What `draw` sees of the mesh: `paint` makes pictures of it, so that several colours cost one search."""
    if size < 8:
        raise SignalError(f"size must be at least 8 pixels, got {size}")
    if not zoom > 0:
        raise SignalError(f"zoom must be positive, got {zoom}")
    camera = camera_of(azimuth, elevation, up)
    low, high = mesh.bounds if bounds is None else bounds
    middle = (low + high) / 2 if look_at is None else look_at
    pixels = size * SAMPLES
    scale = pixels * zoom * magnification(low, high, camera)
    seen = (mesh.vertices - middle) @ camera.T * scale
    # Row 0 is the top of the picture.
    place = np.stack([pixels / 2 - seen[:, 1], pixels / 2 + seen[:, 0]], 1)
    depth, face, weights = _nearest(place, seen[:, 2], mesh.faces, pixels)
    hit = face >= 0
    face, weights = face[hit], weights[hit]
    return Seen(hit, face, weights, _normals(mesh, camera, face, weights), _occlusion(depth, hit)[hit])


def paint(mesh: Mesh, seen: Seen, colours: np.ndarray | None = None) -> np.ndarray:
    """A picture of what is seen, uint8 (size, size, 4), with `colours` (n, 3) of the vertices or like clay."""
    if colours is not None and colours.shape != mesh.vertices.shape:
        raise SignalError(f"colours must have shape {mesh.vertices.shape}, got {colours.shape}")
    base = np.array(CLAY) if colours is None else _blend(colours, mesh.faces, seen.face, seen.weights)
    picture = np.zeros((*seen.hit.shape, 4), np.float32)
    picture[seen.hit, :3] = _shade(seen.normals, base) * seen.light[:, None]
    picture[seen.hit, 3] = 1
    return _reduced(picture)


def camera_of(azimuth: float, elevation: float, up: str) -> np.ndarray:
    """Rows: the directions right, up and towards the eye, in the mesh's frame."""
    if up not in ("x", "y", "z"):
        raise SignalError(f"up must be 'x', 'y' or 'z', got {up!r}")
    a, e = math.radians(azimuth), math.radians(elevation)
    eye = np.array([math.sin(a) * math.cos(e), math.sin(e), math.cos(a) * math.cos(e)])
    right = np.array([math.cos(a), 0.0, -math.sin(a)])
    rows = np.stack([right, np.cross(eye, right), eye])
    # The frame above has y up; a cyclic change of axes keeps it right-handed.
    return np.roll(rows, {"x": -1, "y": 0, "z": 1}[up], axis=1)


def magnification(low: np.ndarray, high: np.ndarray, camera: np.ndarray) -> float:
    """Widths of the picture per unit of length, for the box from `low` to `high` to fill 94% of it."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * (high - low)
    seen = corners @ camera[:2].T
    return FILLED / max(float((seen.max(0) - seen.min(0)).max()), 1e-300)


def _nearest(
    place: np.ndarray, height: np.ndarray, faces: np.ndarray, pixels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every sample the depth, the face in front (-1: none) and the weights of its corners."""
    depth = np.full(pixels * pixels, -np.inf)
    face = np.full(pixels * pixels, -1)
    weights = np.zeros((pixels * pixels, 3))
    for hits in scanline.hits(place[faces], (pixels, pixels)):
        where = hits.row * pixels + hits.column
        z = (height[faces[hits.triangle]] * hits.weights).sum(1)
        # Of several hits of a sample the nearest is the last one, which stays.
        nearer = np.flatnonzero(z > depth[where])
        front = nearer[np.argsort(z[nearer], kind="stable")]
        depth[where[front]], face[where[front]], weights[where[front]] = (
            z[front],
            hits.triangle[front],
            hits.weights[front],
        )
    square = (pixels, pixels)
    return depth.reshape(square), face.reshape(square), weights.reshape(*square, 3)


def _normals(mesh: Mesh, camera: np.ndarray, face: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shown, face = np.unique(face, return_inverse=True)
    smooth = (corner_normals(mesh, shown)[face] * weights[:, :, None]).sum(1)
    flat = mesh.face_normals()[shown][face]
    agree = (smooth * flat).sum(1) > TURNED * np.linalg.norm(smooth, axis=1)
    normals = np.where(agree[:, None], smooth, flat) @ camera.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    # Whatever is seen faces the eye, also the inner side of an open surface.
    return np.where(normals[:, 2:] < 0, -normals, normals)


def corner_normals(mesh: Mesh, shown: np.ndarray) -> np.ndarray:
    """Unit normals (k, 3, 3) at the corners of the faces `shown` (k): of the faces around each that meet it in a curve.

    >>> from staf.kinds.shape.mesh import Mesh
    >>> roof = Mesh(np.array([[0, 0, 0], [0, 1, 0], [1, 0, -1], [-1, 0, -1.0]]), np.array([[0, 2, 1], [0, 1, 3]]))
    >>> np.round(corner_normals(roof, np.arange(2))[:, 0], 2).tolist()
    [[0.71, 0.0, 0.71], [-0.71, 0.0, 0.71]]
    """
    areas, units, means = mesh.face_normals(unit=False), mesh.face_normals(), mesh.vertex_normals()
    normals = means[mesh.faces[shown]]
    # Where all faces around a vertex lie near their mean, no two of them meet in an edge.
    near = (means[mesh.faces] * units[:, None]).sum(-1) > np.cos(np.arccos(CREASE) / 2)
    bent = np.zeros(len(mesh.vertices), bool)
    bent[mesh.faces[~near]] = True
    row, corner = np.nonzero(bent[mesh.faces[shown]])
    own = shown[row]
    vertex = mesh.faces[own, corner]
    # The faces around each vertex, one after the other.
    around = np.argsort(mesh.faces.ravel(), kind="stable") // 3
    count = np.bincount(mesh.faces.ravel(), minlength=len(mesh.vertices))
    first = np.cumsum(count) - count
    total = np.zeros((len(row), 3))
    for k in range(min(MOST_MEETING, int(count[bent].max(initial=0)))):
        there = np.flatnonzero((k < count[vertex]) & (count[vertex] <= MOST_MEETING))
        other = around[first[vertex[there]] + k]
        joined = (units[other] * units[own[there]]).sum(1) > CREASE
        total[there[joined]] += areas[other[joined]]
    alone = ~total.any(1)
    total[alone] = units[own[alone]]
    normals[row, corner] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    return normals


def _blend(values: np.ndarray, faces: np.ndarray, face: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (values[faces[face]] * weights[:, :, None]).sum(1)


def _shade(normals: np.ndarray, base: np.ndarray) -> np.ndarray:
    light = np.full(len(normals), AMBIENT)
    for direction, strength in LIGHTS:
        towards = np.array(direction) / np.linalg.norm(direction)
        light += strength * np.clip(normals @ towards, 0, None)
    half = np.array(LIGHTS[0][0]) / np.linalg.norm(LIGHTS[0][0]) + (0, 0, 1)
    gloss = 0.10 * np.clip(normals @ (half / np.linalg.norm(half)), 0, None) ** 40
    return np.clip(base * light[:, None] * 1.12 + gloss[:, None], 0, 1)


def _occlusion(depth: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """Darker where the surroundings stand nearer to the eye: differences to blurred depths at three widths."""
    gaussian_filter = need("shape", "scipy.ndimage").gaussian_filter

    # One sample of each pixel is enough for something so soft.
    near, seen = depth[1::SAMPLES, 1::SAMPLES], hit[1::SAMPLES, 1::SAMPLES]
    filled = np.where(seen, near, 0.0).astype(np.float32)
    dark = np.zeros(near.shape, np.float32)
    for width in (len(near) / 160, len(near) / 60, len(near) / 24):
        weight = gaussian_filter(seen.astype(np.float32), width, truncate=2.5)
        mean = gaussian_filter(filled, width, truncate=2.5) / np.maximum(weight, 1e-6)
        dark += np.clip((mean - filled) / (2.5 * width * SAMPLES), 0, 1)
    light = 1 - 0.35 * np.clip(np.where(seen, dark, 0), 0, 1.5)
    return np.repeat(np.repeat(light, SAMPLES, axis=0), SAMPLES, axis=1)


def _reduced(picture: np.ndarray) -> np.ndarray:
    """Samples to pixels in 8 bits, colours averaged by coverage."""
    side = len(picture) // SAMPLES
    sums = picture.reshape(side, SAMPLES, side, SAMPLES, 4).sum((1, 3))
    colour = sums[..., :3] / np.maximum(sums[..., 3:], 1e-6)
    return np.rint(255 * np.concatenate([colour, sums[..., 3:] / SAMPLES**2], -1)).astype(np.uint8)
