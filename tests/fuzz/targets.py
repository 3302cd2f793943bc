"""What is fuzzed: every loader, with small valid files made by our own writers to start from."""

from __future__ import annotations

import contextlib
import io
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds import Audio, Image
from staf.kinds.shape.mesh_writing import write_mesh
from staf.signals import SignalError
from staf.storage import FileError
from tests.fuzz.mutation import mutated, with_header_length, with_ogg_sums, with_png_sums
from tests.kinds.pictures import pixels, srgb_profile
from tests.kinds.solids import box, glb, ply_text, sphere

ALLOWED = (SignalError, FileError)
Open = Callable[[Path], Any]


@dataclass
class Target:
    """A loader: the name of its file, valid files to damage, and what to do with a damaged one.

    `magic` is put back in front of most damaged files, which would else be told to be of no known format; `repair`
    makes checksums right again in most.
    """

    name: str
    file: str
    seeds: list[bytes]
    open: Open
    magic: bytes = b""
    repair: Callable[[bytes], bytes] | None = None

    def input(self, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
        """A damaged file."""
        data = mutated(chance, seeds)
        if self.magic and chance.random() < 0.95:
            data = self.magic + data[len(self.magic) :]
        if self.repair is not None and chance.random() < 0.8:
            data = self.repair(data)
        return data


def decoded_bytes(result: Any) -> int:
    """The memory that a signal takes once it is open."""
    held = getattr(result, "_array", None)
    if isinstance(held, np.ndarray):
        return held.nbytes
    mesh = getattr(result, "_mesh", None)
    return 0 if mesh is None else mesh.vertices.nbytes + mesh.faces.nbytes


def make_targets(folder: Path, names: Sequence[str] = ()) -> list[Target]:
    """The targets of these names, or all, with their seeds; `folder` is for files on the way."""
    made = []
    for name, make in MAKERS.items():
        if not names or name in names:
            own = folder / f"seeds-{name}"
            own.mkdir(parents=True, exist_ok=True)
            made.append(make(own))
    return made


def _images(name: str, suffix: str, extra: Callable[[Path], list[bytes]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        seeds = []
        for channels in (1, 2, 3, 4):
            if suffix == ".jpg" and channels in (2, 4):
                continue
            for dtype in (np.uint8, np.uint16, np.float32)[: 1 if suffix in (".jpg", ".webp") else 3]:
                image = Image(pixels(9, 13, channels, dtype), profile=srgb_profile() if channels == 3 else None)
                seeds.append(image.save(folder / f"{channels}{np.dtype(dtype).name}{suffix}").read_bytes())
        return Target(name, f"a{suffix}", [*seeds, *extra(folder)], staf.open, **options)

    return make


def _more_pngs(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    exif = PIL.Image.Exif()
    exif[274] = 6
    variants: list[tuple[Any, dict[str, Any]]] = [
        (picture.quantize(16), {}), (picture.quantize(16), {"transparency": 3}), (picture.convert("1"), {}),
        (picture.convert("L"), {"transparency": 7}), (picture, {"exif": exif}),
        (picture, {"save_all": True, "append_images": [picture.rotate(180)]}),
    ]  # fmt: skip
    return [_saved(image, "PNG", **options) for image, options in variants]


def _saved(picture: Any, format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return buffer.getvalue()


def _more_jpegs(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    exif = PIL.Image.Exif()
    exif[274] = 8
    return [
        _saved(picture, "JPEG", progressive=True), _saved(picture, "JPEG", restart_marker_rows=1, exif=exif),
        _saved(picture.convert("CMYK"), "JPEG"), _saved(picture, "JPEG", icc_profile=srgb_profile()),
        _saved(picture.convert("L"), "JPEG", quality=5, optimize=True),
    ]  # fmt: skip


def _more_webps(folder: Path) -> list[bytes]:
    import PIL.Image

    picture = PIL.Image.fromarray(pixels(20, 30))
    turned = [picture.rotate(180)]
    return [_saved(picture, "WEBP", quality=40), _saved(picture, "WEBP", save_all=True, append_images=turned)]


def _more_tiffs(folder: Path) -> list[bytes]:
    import PIL.Image
    import tifffile

    seeds = []
    array = pixels(20, 33)
    ways: list[dict[str, Any]] = [
        {}, {"compression": "lzw"}, {"compression": "zstd", "predictor": True}, {"tile": (16, 16)},
        {"compression": "packbits", "rowsperstrip": 3}, {"bigtiff": True}, {"byteorder": ">"}, {"compression": "lzma"},
        {"compression": "jpeg"}, {"compression": "jpeg", "tile": (16, 16)},
        {"extratags": [(274, 3, 1, 6, True)], "iccprofile": srgb_profile()},
    ]  # fmt: skip
    for options in ways:
        tifffile.imwrite(folder / "a.tif", array, photometric="rgb", **options)
        seeds.append((folder / "a.tif").read_bytes())
    tifffile.imwrite(folder / "a.tif", array[..., 0] % 16, bitspersample=4)
    seeds.append((folder / "a.tif").read_bytes())
    tifffile.imwrite(folder / "a.tif", np.repeat(array[..., :1], 4, 2), photometric="separated")
    seeds.append((folder / "a.tif").read_bytes())
    planes = np.ascontiguousarray(array.transpose(2, 0, 1))
    tifffile.imwrite(folder / "a.tif", planes, photometric="rgb", planarconfig="separate")
    seeds.append((folder / "a.tif").read_bytes())
    seeds.append(_saved(PIL.Image.fromarray(array).quantize(16), "TIFF"))
    seeds.append(_saved(PIL.Image.fromarray(array[..., 0] > 99), "TIFF"))
    return seeds


def _more_npys(folder: Path) -> list[bytes]:
    seeds = []
    for array in (np.zeros((3, 4), bool), np.ones((3, 4, 1), ">f8"), np.asfortranarray(pixels(4, 5)), np.arange(5)):
        buffer = io.BytesIO()
        np.save(buffer, array)
        seeds.append(buffer.getvalue())
    return seeds


def _sounds(name: str, suffix: str, ways: Sequence[dict[str, Any]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        import soundfile

        seeds = []
        time = np.arange(3000) / 8000
        wave = 0.3 * np.sin(2 * np.pi * 440 * time) + 0.1 * np.random.default_rng(0).normal(size=3000)
        for channels in (1, 2):
            samples = np.repeat(wave[:, None], channels, 1).clip(-0.99, 0.99).astype(np.float32)
            for rate in (8000, 44100):
                path = Audio(samples, rate).save(folder / f"a{suffix}")
                seeds.append(path.read_bytes())
            for way in ways:
                soundfile.write(folder / f"b{suffix}", samples, 44100, **way)
                seeds.append((folder / f"b{suffix}").read_bytes())
        return Target(name, f"a{suffix}", seeds, staf.open, **options)

    return make


def _meshes(name: str, extra: Callable[[], list[bytes]], **options: Any) -> Callable[[Path], Target]:
    def make(folder: Path) -> Target:
        seeds = [write_mesh(mesh, folder / f"a.{name}").read_bytes() for mesh in (box(), sphere(1))]
        return Target(name, f"a.{name}", [*seeds, *extra()], staf.open, **options)

    return make


def _more_plys() -> list[bytes]:
    from tests.kinds.shape.test_mesh_limits import binary_ply, ply_row

    rows = [ply_row(order, face, place % 3) for order in "<>" for place, face in enumerate(box().faces.tolist())]
    return [ply_text(box()), ply_text(sphere(0)), binary_ply("<", rows[:12]), binary_ply(">", rows[12:])]


def _more_glbs() -> list[bytes]:
    from tests.kinds.shape.test_mesh_limits import scene

    nodes = [{"children": [1, 2], "translation": [1, 2, 3]}, {"mesh": 0, "scale": [1, -2, 3]}, {"mesh": 0}]
    turned = [{"mesh": 0, "rotation": [0, 0, 0.6, 0.8], "matrix": [1, 0, 0, 0] * 4}]
    return [scene(nodes, scenes=[{"nodes": [0]}], scene=0), scene(turned), glb({"asset": {"version": "2.0"}})]


def _more_objs() -> list[bytes]:
    return [b"mtllib a.mtl\no box\nv 0 0 0 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1 4/1/1\n"
            b"f -1 -2 \\\n-3\ng part\nf 1//1 2//1 3//1\nl 1 2\n# end\n"]  # fmt: skip


def _more_offs() -> list[bytes]:
    return [b"COFF\n4 2 0 # counts\n0 0 0 255 0 0\n1 0 0 0 0 0\n1 1 0 0 0 0\n0 1 0 9 9 9\n4 0 1 2 3 1 0 0\n3 0 1 2\n"]


def _more_stls() -> list[bytes]:
    import trimesh

    return [trimesh.creation.box().export(file_type="stl_ascii").encode()]


def _fields(folder: Path) -> Target:
    seeds = []
    image, sound = Image(pixels(6, 7)), Audio(np.sin(np.arange(50) / 3).astype(np.float32), 100)
    networks = (
        staf.siren(2, 3, width=4, depth=2),
        staf.staf(2, 3, width=4, depth=2),
        staf.wire(2, 3, width=4, depth=2),
    )
    for number, network in enumerate(networks):
        path = folder / f"{number}.safetensors"
        staf.fit(image, field=network, steps=2, progress=False, device="cpu").save(path)
        seeds.append(path.read_bytes())
    path = folder / "sound.safetensors"
    staf.fit(sound, field=staf.siren(1, 1, width=4, depth=2), steps=2, progress=False, device="cpu").save(path)
    seeds.append(path.read_bytes())
    path = folder / "shape.safetensors"
    ball = staf.kinds.Shape.sphere(subdivisions=1, resolution=8)
    staf.fit(ball, field=staf.siren(3, 1, width=4, depth=2), steps=2, progress=False, device="cpu").save(path)
    seeds.append(path.read_bytes())

    def open_field(path: Path) -> None:
        field = staf.load(path)
        repr(field)
        repr(field.signal)

    return Target("field", "a.safetensors", seeds, open_field, repair=with_header_length)


def _checkpoints(folder: Path) -> Target:
    image = Image(pixels(5, 4))
    made = folder / "checkpoint.safetensors"

    def stop(state: Any) -> None:
        if state.step == 2:
            signal.raise_signal(signal.SIGINT)

    def network() -> Any:
        return staf.siren(2, 3, width=4, depth=2)

    with contextlib.suppress(KeyboardInterrupt):
        staf.fit(image, field=network(), steps=4, progress=False, device="cpu", checkpoint=made, callbacks=stop)

    def resume(path: Path) -> None:
        staf.fit(image, field=network(), resume=path, progress=False, device="cpu")

    return Target("checkpoint", "a.safetensors", [made.read_bytes()], resume, repair=with_header_length)


def _index(folder: Path) -> Target:
    from staf.storage.field_set import load_many

    pictures = [pixels(4, 4, seed=seed) for seed in (0, 1)]
    staf.fit_many(pictures, steps=1, out=folder / "many", progress=False)
    seed = (folder / "many" / "index.json").read_bytes()

    def open_many(path: Path) -> None:
        (folder / "many" / "index.json").write_bytes(path.read_bytes())
        load_many(folder / "many")

    return Target("index", "index.json", [seed], open_many)


def _windows(folder: Path) -> Target:
    from staf.windows import load_windows

    sound = Audio(np.sin(np.arange(300) * 0.1), rate=100)
    staf.fit_windows(sound, seconds=1.0, overlap=0.1, steps=1, progress=False, out=folder / "windows")
    seed = (folder / "windows" / "windows.json").read_bytes()

    def open_windows(path: Path) -> None:
        (folder / "windows" / "windows.json").write_bytes(path.read_bytes())
        load_windows(folder / "windows").render()

    return Target("windows", "windows.json", [seed], open_windows)


MAKERS: dict[str, Callable[[Path], Target]] = {
    "png": _images("png", ".png", _more_pngs, magic=b"\x89PNG\r\n\x1a\n", repair=with_png_sums),
    "jpeg": _images("jpeg", ".jpg", _more_jpegs, magic=b"\xff\xd8\xff"),
    "tiff": _images("tiff", ".tif", _more_tiffs),
    "webp": _images("webp", ".webp", _more_webps, magic=b"RIFF"),
    "npy": _images("npy", ".npy", _more_npys, magic=b"\x93NUMPY"),
    "wav": _sounds("wav", ".wav", [{"subtype": "FLOAT"}, {"subtype": "IMA_ADPCM"}, {"subtype": "ULAW"}], magic=b"RIFF"),
    "flac": _sounds("flac", ".flac", [{"subtype": "PCM_24"}], magic=b"fLaC"),
    "ogg": _sounds("ogg", ".ogg", [], magic=b"OggS", repair=with_ogg_sums),
    "mp3": _sounds("mp3", ".mp3", [{"format": "MP3", "bitrate_mode": "VARIABLE"}]),
    "ply": _meshes("ply", _more_plys, magic=b"ply"),
    "obj": _meshes("obj", _more_objs),
    "stl": _meshes("stl", _more_stls),
    "glb": _meshes("glb", _more_glbs, magic=b"glTF"),
    "off": _meshes("off", _more_offs, magic=b"OFF"),
    "field": _fields,
    "checkpoint": _checkpoints,
    "index": _index,
    "windows": _windows,
}
