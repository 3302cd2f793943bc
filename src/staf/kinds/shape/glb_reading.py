"""Binary glTF: the triangles of every mesh, where the nodes of the scene put them.

What the description (a JSON text) announces is compared with what the file holds before anything is built: a mesh may
stand in many places, and a small file can unfold into more than memory holds.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

import numpy as np

from staf.kinds.shape.polygons import Parsed, unreadable
from staf.signals.errors import SignalError

Tree = dict[str, Any]
TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
LENGTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
TRIANGLES, STRIP, FAN = 4, 5, 6
# Corners of faces that a scene may have, and how many per byte of the file, with every mesh at all of its positions.
MAX_CORNERS, FREE_CORNERS, CORNERS_OF_A_BYTE = 300_000_000, 2_000_000, 16
# Entries and brackets of the description: parsed, each takes some hundred bytes.
MOST_ENTRIES = 2_000_000
MOST_NODES = 100_000
PACKED = {"KHR_draco_mesh_compression": "Draco", "EXT_meshopt_compression": "meshopt"}


def parse_glb(data: bytes) -> Parsed:
    """Every mesh of the scene, in the scene's own frame, as one."""
    tree, binary = _chunks(data)
    for name in _strings(tree, "extensionsRequired"):
        if name in PACKED:
            raise SignalError(f"its meshes are compressed with {PACKED[name]}: save it without compression")
    scene = _Scene(tree, _buffers(tree, binary), len(data))
    try:
        # What becomes infinite is refused with the mesh.
        with np.errstate(all="ignore"):
            return scene.unfolded()
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise unreadable("GLB", f"its description lacks something ({type(error).__name__}: {error})") from error


def _chunks(data: bytes) -> tuple[Tree, bytes]:
    """The description, and the bytes that follow it."""
    try:
        magic, version, length = struct.unpack_from("<4sII", data)
        size, kind = struct.unpack_from("<I4s", data, 12)
    except struct.error as error:
        raise unreadable("GLB", "its header is not whole") from error
    if magic != b"glTF" or version != 2 or kind != b"JSON":
        raise SignalError(f"it is no binary glTF of version 2 (version {version})")
    if length > len(data) or 20 + size > len(data):
        said = max(length, 20 + size)
        raise SignalError(f"it is cut short: its header says {said:,} bytes, and there are {len(data):,}")
    text = data[20 : 20 + size]
    if sum(text.count(mark) for mark in (b",", b"[", b"{")) > MOST_ENTRIES:
        raise SignalError(f"its description has more than {MOST_ENTRIES:,} entries")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unreadable("GLB", f"its description is no JSON ({type(error).__name__})") from error
    if not isinstance(tree, dict):
        raise SignalError(f"it is no binary glTF of version 2 (version {version})")
    at = 20 + size
    if at + 8 > len(data):
        return tree, b""
    size, kind = struct.unpack_from("<I4s", data, at)
    if kind != b"BIN\0":
        return tree, b""
    if at + 8 + size > len(data):
        raise unreadable("GLB", f"{len(data) - at - 8:,} of {size:,} bytes of its data are there")
    return tree, data[at + 8 : at + 8 + size]


def _buffers(tree: Tree, binary: bytes) -> list[bytes]:
    """The bytes of every buffer; a reference to another file or address is never followed."""
    found = []
    for place, buffer in enumerate(_entries(tree, "buffers")):
        uri = buffer.get("uri")
        if uri is None:
            found.append(binary if place == 0 else b"")
            continue
        head, comma, body = str(uri).partition(",")
        if not head.startswith("data:") or not comma or not head.endswith(";base64"):
            raise SignalError(f"it refers to {str(uri)[:80]!r}, and references to other files are not followed")
        try:
            found.append(base64.b64decode(body, validate=True))
        except (binascii.Error, ValueError) as error:
            raise unreadable("GLB", f"buffer {place} is no base64") from error
    return found


def _entries(tree: Tree, name: str) -> list[Tree]:
    found = tree.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise SignalError(f"{name} of a GLB file must be a list of objects")
    return found


def _strings(tree: Tree, name: str) -> list[str]:
    found = tree.get(name, [])
    return [str(entry) for entry in found] if isinstance(found, list) else []


class _Scene:
    """The description with its buffers, checked as far as it is used."""

    def __init__(self, tree: Tree, buffers: list[bytes], size: int) -> None:
        self.tree, self.buffers, self.size = tree, buffers, size
        self.nodes, self.meshes = _entries(tree, "nodes"), _entries(tree, "meshes")
        self.accessors, self.views = _entries(tree, "accessors"), _entries(tree, "bufferViews")
        if len(self.nodes) > MOST_NODES:
            raise SignalError(f"its scene has {len(self.nodes):,} nodes, and at most {MOST_NODES:,} are read")
        for accessor in self.accessors:
            count = accessor.get("count")
            if type(count) is not int or not 0 <= count <= size:
                raise SignalError(f"it announces {count!r} elements in a file of {size:,} bytes")
        self.children = self._checked_children()

    def _checked_children(self) -> list[list[int]]:
        """A node has one parent and no chain of nodes returns to itself, so that a scene cannot unfold without end."""
        children = [node.get("children", []) for node in self.nodes]
        if not all(isinstance(own, list) and all(type(child) is int for child in own) for own in children):
            raise SignalError("the children of a node in a GLB file must be a list of numbers")
        below = [child for own in children for child in own]
        if any(not 0 <= child < len(self.nodes) for child in below):
            raise unreadable("GLB", "a node of its scene has a child that is not there")
        if len(below) != len(set(below)):
            raise SignalError("a node of its scene has two parents")
        self.roots = sorted(set(range(len(self.nodes))) - set(below))
        reached = list(self.roots)
        for node in reached:
            reached.extend(children[node])
        if len(reached) < len(self.nodes):
            raise SignalError("a node of its scene is its own ancestor")
        return children

    def unfolded(self) -> Parsed:
        """Vertices and triangles of all meshes in all their places."""
        roots = self._chosen()
        self._check_amount(roots)
        placed = self._placed(roots)
        known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        vertices, faces, start = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], 0
        for mesh, matrix in placed:
            if mesh not in known:
                known[mesh] = self._mesh(mesh)
            own, corners = known[mesh]
            vertices.append(own @ matrix[:3, :3].T + matrix[:3, 3])
            # A mirror image has its faces turned inside out.
            faces.append((corners[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else corners) + start)
            start += len(own)
        return Parsed(np.concatenate(vertices), np.concatenate(faces))

    def _chosen(self) -> list[int]:
        """The topmost nodes of the scene that is shown."""
        scenes = _entries(self.tree, "scenes")
        if not scenes:
            return self.roots
        chosen = scenes[_index(self.tree.get("scene", 0), scenes)].get("nodes", [])
        # Below a node that is named twice, or that has a parent, everything would be unfolded twice.
        if not isinstance(chosen, list) or not set(chosen) <= set(self.roots) or len(chosen) != len(set(chosen)):
            raise unreadable("GLB", "its scene names other nodes than those without a parent")
        return chosen

    def _placed(self, roots: list[int]) -> list[tuple[int, np.ndarray]]:
        """Every mesh with the matrix (4, 4) of each place it is given."""
        if not self.nodes:
            return [(mesh, np.eye(4)) for mesh in range(len(self.meshes))]
        placed = []
        waiting = [(node, np.eye(4)) for node in reversed(roots)]
        while waiting:
            node, above = waiting.pop()
            own = _matrix(self.nodes[node])
            matrix = above if own is None else above @ own
            if "mesh" in self.nodes[node]:
                placed.append((_index(self.nodes[node]["mesh"], self.meshes), matrix))
            waiting.extend((child, matrix) for child in reversed(self.children[node]))
        return placed

    def _check_amount(self, roots: list[int]) -> None:
        reached = list(roots)
        for node in reached:
            reached.extend(self.children[node])
        placed = [_index(self.nodes[node]["mesh"], self.meshes) for node in reached if "mesh" in self.nodes[node]]
        sizes = []
        for mesh in self.meshes:
            parts = mesh.get("primitives", [])
            corners = [part["indices"] if "indices" in part else part["attributes"]["POSITION"] for part in parts]
            points = [part["attributes"]["POSITION"] for part in parts if "attributes" in part]
            sizes.append(max(sum(self.accessors[_index(n, self.accessors)]["count"] for n in many)
                             for many in (corners, points)))  # fmt: skip
        total = sum(sizes[mesh] for mesh in placed) if self.nodes else sum(sizes)
        allowed = min(MAX_CORNERS, max(FREE_CORNERS, CORNERS_OF_A_BYTE * self.size))
        if total > allowed:
            raise SignalError(f"its scene has {total:,} corners of faces, more than {allowed:,}")

    def _mesh(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (n, 3) and triangles (m, 3) of one mesh; points and lines have none."""
        vertices, faces, start = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], 0
        for part in _entries(self.meshes[place], "primitives"):
            mode = part.get("mode", TRIANGLES)
            if mode not in (TRIANGLES, STRIP, FAN):
                continue
            packed = [PACKED[name] for name in part.get("extensions", {}) if name in PACKED]
            if packed:
                raise SignalError(f"its meshes are compressed with {packed[0]}: save it without compression")
            positions = self._values(part["attributes"]["POSITION"], 3).astype(np.float64)
            corners = np.arange(len(positions))
            if "indices" in part:
                corners = self._values(part["indices"], 1).ravel().astype(np.int64)
                if corners.size and corners.max() >= len(positions):
                    raise unreadable("GLB", f"a face names vertex {corners.max()}, and there are {len(positions):,}")
            vertices.append(positions)
            faces.append(_triangles(corners, mode) + start)
            start += len(positions)
        return np.concatenate(vertices), np.concatenate(faces)

    def _values(self, place: Any, length: int) -> np.ndarray:
        """The elements of an accessor, (count, length)."""
        accessor = self.accessors[_index(place, self.accessors)]
        if "sparse" in accessor:
            raise SignalError("its accessors are sparse, which this version does not read: save it without")
        kind, count = np.dtype(TYPES[accessor["componentType"]]), accessor["count"]
        if LENGTHS[accessor["type"]] != length or (length == 1 and kind.kind != "u"):
            raise unreadable("GLB", f"accessor {place} is a {accessor['type']} of {kind.name}")
        if "bufferView" not in accessor:
            raise unreadable("GLB", f"accessor {place} announces {count:,} elements and has no data")
        view = self.views[_index(accessor["bufferView"], self.views)]
        buffer = self.buffers[_index(view["buffer"], self.buffers)]
        begin, inner = _whole(view.get("byteOffset", 0)), _whole(accessor.get("byteOffset", 0))
        step = _whole(view.get("byteStride", 0)) or kind.itemsize * length
        end = min(len(buffer), begin + _whole(view["byteLength"]))
        last = begin + inner + (count - 1) * step + kind.itemsize * length
        if step < kind.itemsize * length or (count and last > end):
            raise unreadable("GLB", f"accessor {place} announces {count:,} elements, and not all are there")
        values = np.ndarray((count, length), kind, buffer, begin + inner if count else 0, (step, kind.itemsize))
        if accessor.get("normalized") and kind.kind != "f":
            return np.maximum(values / np.iinfo(kind).max, -1)
        return values


def _triangles(corners: np.ndarray, mode: int) -> np.ndarray:
    """The triangles (m, 3) of a list, a strip or a fan of corners.

    >>> _triangles(np.arange(5), STRIP).tolist()
    [[0, 1, 2], [2, 1, 3], [2, 3, 4]]
    """
    if mode == TRIANGLES:
        if len(corners) % 3:
            raise unreadable("GLB", f"its triangles have {len(corners):,} corners, which is no multiple of three")
        return corners.reshape(-1, 3)
    if len(corners) < 3:
        return np.empty((0, 3), np.int64)
    if mode == FAN:
        return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], 1)
    strip = np.stack([corners[:-2], corners[1:-1], corners[2:]], 1)
    strip[1::2, :2] = strip[1::2, 1::-1]
    return strip


def _matrix(node: Tree) -> np.ndarray | None:
    """The matrix (4, 4) of a node: its own, or of its scale, rotation and translation in this order; None for none."""
    if "matrix" in node:
        return _numbers(node["matrix"], 16).reshape(4, 4).T
    if not {"rotation", "scale", "translation"} & node.keys():
        return None
    matrix = np.eye(4)
    if "rotation" in node:
        x, y, z, w = _numbers(node["rotation"], 4)
        matrix[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                          [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                          [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]  # fmt: skip
    if "scale" in node:
        matrix[:3, :3] *= _numbers(node["scale"], 3)
    if "translation" in node:
        matrix[:3, 3] = _numbers(node["translation"], 3)
    return matrix


def _numbers(values: Any, count: int) -> np.ndarray:
    if not isinstance(values, (list, tuple)) or len(values) != count:
        raise unreadable("GLB", f"a node's place must be {count} numbers")
    if not all(isinstance(value, (int, float)) for value in values):
        raise unreadable("GLB", f"a node's place must be {count} numbers")
    try:
        return np.array(values, np.float64)
    except OverflowError as error:
        raise unreadable("GLB", "a node's place is beyond all numbers") from error


def _index(value: Any, among: list[Any]) -> int:
    if type(value) is not int or not 0 <= value < len(among):
        raise unreadable("GLB", f"it names entry {str(value)[:40]} of {len(among)}")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise unreadable("GLB", f"it has the offset or length {str(value)[:40]}")
    return value
