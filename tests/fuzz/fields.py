"""Damaged files of our own: fields, checkpoints, folders and sets of fields, windows."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staf
from staf.kinds import Audio, Image
from staf.storage.sets.folder import SetFolder, entries_of
from staf.storage.sets.shard import Finished
from tests.fuzz.mutation import with_header_length
from tests.fuzz.target import Target
from tests.kinds.pictures import pixels


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

    # Background jobs start with SIGINT ignored, and a fit leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


def _sets(name: str, part: str, repair: Callable[[bytes], bytes] | None = None) -> Callable[[Path], Target]:
    """A file of a set of fields: its settings, its index or a shard."""

    def make(folder: Path) -> Target:
        image = Image(pixels(4, 4, 1))
        made = SetFolder.begin(folder / "set", {"seed": 0})
        fields = []
        for number in range(2):
            metadata = {"signal": image.metadata(), "convention": "centres", "metrics": {"psnr": 30.0}}
            network = staf.siren(2, 1, width=4, depth=2)
            fields.append(Finished.of(f"field{number}", f"key{number}", network, {**metadata, "tags": {"g": number}}))
        made.commit(entries_of(made.place, fields), {})
        damaged = next((folder / "set").rglob(part))

        def open_set(path: Path) -> None:
            damaged.write_bytes(path.read_bytes())
            opened = staf.FieldSet(folder / "set")
            for number in range(min(4, len(opened))):
                repr(staf.FittedField(*opened.load(number)))
            opened.stack()

        return Target(name, damaged.name, [damaged.read_bytes()], open_set, repair=repair)

    return make


def with_index_sum(data: bytes) -> bytes:
    """A segment of an index whose last line has the number and the hash of those before."""
    body = data[: data.rstrip(b"\n").rfind(b"\n") + 1]
    last = {"end": body.count(b"\n"), "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(last).encode() + b"\n"


MAKERS: dict[str, Callable[[Path], Target]] = {
    "field": _fields,
    "checkpoint": _checkpoints,
    "index": _index,
    "windows": _windows,
    "set": _sets("set", "set.json"),
    "segment": _sets("segment", "*.jsonl", with_index_sum),
    "shard": _sets("shard", "*.safetensors", with_header_length),
}
