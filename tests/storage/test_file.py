from __future__ import annotations

import json
import math
import os
import random
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

import staf
from staf._files import WriteError
from staf.kinds import Audio, Grid, Image, Shape, Video
from staf.signals import SignalError
from staf.storage import file
from staf.storage.file import load_field, save_field
from staf.storage.header import MAX_HEADER_BYTES, FileError, read_header
from tests.training.problem import small_siren

STORED = Path(__file__).parent.parent / "data" / "format-1.safetensors"


def fields():
    generator = torch.Generator().manual_seed(0)
    small = {"width": 16, "depth": 2, "generator": generator}
    for name, spec in staf.nn.NETWORKS.items():
        build = spec.factory
        if name != "incode":
            yield name, build(2, 3, **small)
    yield "staf per neuron", staf.staf(2, 3, sharing="neuron", **small)
    yield "staf one for all", staf.staf(2, 3, sharing="network", **small)
    yield "staf frozen", staf.staf(2, 3, train=("phase",), **small)


@pytest.mark.parametrize(("name", "field"), list(fields()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_network_comes_back_from_its_file_alone(tmp_path, name, field):
    save_field(tmp_path / "f.safetensors", field, {"seed": 4})
    rebuilt, metadata = load_field(tmp_path / "f.safetensors")
    x = torch.rand(20, 2)
    assert metadata["seed"] == 4
    assert torch.equal(rebuilt(x), field(x))
    assert {n for n, p in rebuilt.named_parameters() if p.requires_grad} == {n for n, _ in field.named_parameters()}


def test_incode_is_baked(tmp_path):
    from tests.training.problem import task

    field = staf.incode(2, 3, width=16, depth=2, generator=torch.Generator().manual_seed(0))
    problem = task()
    field.bind(problem)
    save_field(tmp_path / "f.safetensors", field, {})
    rebuilt, _ = load_field(tmp_path / "f.safetensors")
    torch.testing.assert_close(rebuilt(problem.coordinates), field(problem.coordinates))
    assert sum(p.numel() for p in rebuilt.parameters()) < 5000


def test_float64_weights_stay_float64(tmp_path):
    save_field(tmp_path / "f.safetensors", small_siren().double(), {})
    rebuilt, _ = load_field(tmp_path / "f.safetensors")
    assert {p.dtype for p in rebuilt.parameters()} == {torch.float64}


def test_foreign_modules_save_their_weights_and_say_so(tmp_path):
    path = tmp_path / "f.safetensors"
    module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    save_field(path, module, {})
    with pytest.raises(FileError, match="not one of staf's networks"):
        load_field(path)
    other = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    load_field(path, other)
    assert torch.equal(other[0].weight, module[0].weight)
    with pytest.raises(FileError, match=r"0\.bias has shape \(4,\), its architecture needs \(5,\)"):
        load_field(path, torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)))


def test_the_stored_file_of_format_1_opens_with_the_same_values():
    field = staf.load(STORED)
    x = torch.tensor([[0.25, -0.5], [0.0, 0.75]])
    expected = torch.tensor(json.loads((STORED.parent / "format-1.json").read_text()))
    torch.testing.assert_close(field(x).detach(), expected, atol=1e-5, rtol=0)
    assert field.signal.shape == (6, 8)


def forge(path, header, data=b"", length=None):
    raw = json.dumps(header).encode() if isinstance(header, dict) else header
    path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + data)
    return path


def document(**changes):
    architecture = {"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "width": 16, "depth": 3}}
    return {"format": 1, "kind": "field", "complex": [], "architecture": architecture, **changes}


def entry(shape, begin=0, dtype="F32"):
    size = 4
    for n in shape:
        size *= n
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}


def test_wrong_magic(tmp_path):
    path = tmp_path / "f.safetensors"
    for data, message in [
        (b"", "empty"),
        (b"\x00\x01", "too short"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, "not a safetensors file"),
        (b"PK\x03\x04" + b"\x80" * 100, "not a safetensors file"),
        (struct.pack("<Q", 5) + b"{nope", "broken header"),
        (struct.pack("<Q", 2) + b"{}", "not one that staf wrote"),
        (struct.pack("<Q", 2**20) + b"{}", "truncated"),
    ]:
        path.write_bytes(data)
        with pytest.raises(FileError, match=message):
            load_field(path)


def test_truncated_anywhere_is_refused(tmp_path):
    path = tmp_path / "f.safetensors"
    save_field(path, small_siren(), {})
    whole = path.read_bytes()
    for keep in [0, 5, 8, 30, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:keep])
        with pytest.raises(FileError):
            load_field(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": {"name": "os.system", "arguments": {"command": "true"}}}, "cannot be built"),
        ({"architecture": {"name": "__import__", "arguments": {}}}, "cannot be built"),
        ({"architecture": {"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "width": 10**12}}}, "w"),
        (
            {"architecture": {"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "depth": 10**9}}},
            "depth",
        ),
        (
            {"architecture": {"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "generator": "x"}}},
            "generator",
        ),
        ({"architecture": {"name": "siren", "arguments": {"in_features": "2", "out_features": 3}}}, "in_features"),
        ({"architecture": [1, 2]}, "cannot be built"),
        ({"architecture": "siren"}, "cannot be built"),
        ({"format": 2}, "upgrade staf"),
        ({"format": "1"}, "no format version"),
        ({"kind": "other"}, "neither a fitted field nor the checkpoint"),
        ({"kind": "checkpoint"}, "it holds no weights"),
        ({"complex": 7}, "broken header"),
        ({"signal": []}, "signal must be data by name, got list of 0"),
        ({"convention": "middle"}, "convention must be 'centres' or 'ends', got 'middle'"),
        ({"metrics": {"psnr": "high"}}, "metrics must be numbers by name"),
        ({"metrics": 3}, "metrics must be numbers by name"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"steps": -1}, "steps must be a whole number"),
        ({"seconds": 1e999}, "seconds must be a number"),
        ({"recipe": "default"}, "recipe must be data by name"),
        ({"stopped": 3}, "stopped must be a text"),
    ],
)
def test_hostile_metadata_is_refused_before_anything_is_built(tmp_path, changes, message):
    header = {"__metadata__": {"staf": json.dumps(document(**changes))}, "w": entry([1])}
    path = forge(tmp_path / "f.safetensors", header, b"\0" * 4)
    with pytest.raises(FileError, match=message):
        load_field(path)


def test_huge_declared_shapes_are_refused_without_allocating(tmp_path):
    tensors = {"layers.0.weight": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}
    path = forge(tmp_path / "f.safetensors", {"__metadata__": {"staf": json.dumps(document())}, **tensors})
    with pytest.raises(FileError, match=r"truncated or padded"):
        load_field(path)
    wide = {"name": "siren", "arguments": {"in_features": 2, "out_features": 3, "width": 60000, "depth": 4}}
    header = {"__metadata__": {"staf": json.dumps(document(architecture=wide))}, "w": entry([1])}
    with pytest.raises(FileError):
        load_field(forge(path, header, b"\0" * 4))


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "X32", "shape": [1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
        {"a": {"dtype": "F32", "shape": "1", "data_offsets": [0, 4]}},
        {name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for name in "ab"},
        {"a": 3},
    ],
)
def test_tensor_entries_that_disagree_are_refused(tmp_path, tensors):
    header = {"__metadata__": {"staf": json.dumps(document())}, **tensors}
    with pytest.raises(FileError, match=r"broken header|truncated"):
        read_header(forge(tmp_path / "f.safetensors", header, b"\0" * 4))


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.zeros(2)}, path)
    with pytest.raises(FileError, match="not a safetensors file"):
        load_field(path)


def test_missing_files_suggest_the_nearest(tmp_path):
    save_field(tmp_path / "photo.safetensors", small_siren(), {})
    with pytest.raises(FileError, match=r"did you mean .*photo\.safetensors"):
        load_field(tmp_path / "phto.safetensors")
    with pytest.raises(FileError, match="is a folder"):
        load_field(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "f.safetensors"
    save_field(path, small_siren(), {})
    before = path.read_bytes()

    def full(self, data):
        with open(self, "wb") as half:
            half.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WriteError, match="the disk is full"):
        save_field(path, small_siren(1), {})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_complex128_weights_come_back_and_can_be_copied(tmp_path):
    # In the file such tensors may lie eight bytes off the alignment that complex arithmetic needs.
    for extra in range(4):
        name = "f" * (extra * 8 + 1)
        weight = torch.randn(33, 17, dtype=torch.complex128, generator=torch.Generator().manual_seed(extra))
        file.write(tmp_path / name, {"odd": torch.ones(extra, dtype=torch.float64), "weight": weight}, {name: name})
        back = file.read_tensors(read_header(tmp_path / name))["weight"]
        assert back.data_ptr() % 16 == 0
        assert torch.equal(torch.empty_like(weight).copy_(back), weight)


def test_weights_of_another_type_are_refused(tmp_path):
    path, field = tmp_path / "f.safetensors", small_siren()
    about = {"kind": "field", "architecture": field.architecture}
    tensors = field.state_dict()
    file.write(path, {**tensors, "layers.0.weight": tensors["layers.0.weight"].int()}, about)
    with pytest.raises(FileError, match=r"layers\.0\.weight holds I32"):
        load_field(path)
    file.write(path, {**tensors, "layers.0.weight": tensors["layers.0.weight"].half()}, about)
    with pytest.raises(FileError, match="mixes tensors of F16 and F32"):
        load_field(path)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_stored_in_half_precision_are_computed_with_in_float32(tmp_path, dtype):
    field = small_siren()
    save_field(tmp_path / "f.safetensors", field.to(dtype), {})
    loaded, _ = load_field(tmp_path / "f.safetensors")
    assert torch.equal(loaded(torch.zeros(3, 2)), field.float()(torch.zeros(3, 2)))


def test_what_only_the_safetensors_library_notices_is_a_file_error(tmp_path):
    path = tmp_path / "f.safetensors"
    save_field(path, small_siren(), {})
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    header["__metadata__"]["number"] = 3
    with pytest.raises(FileError, match="cannot be read"):
        load_field(forge(path, header, whole[8 + length :]))


def test_astronomic_shapes_are_refused_at_once(tmp_path):
    shape = ",".join(["9" * 4000] * 400)
    about = json.dumps(json.dumps(document()))
    raw = f'{{"__metadata__":{{"staf":{about}}},"a":{{"dtype":"F32","shape":[{shape}],"data_offsets":[0,4]}}}}'
    began = time.monotonic()
    with pytest.raises(FileError, match="broken header"):
        read_header(forge(tmp_path / "f.safetensors", raw.encode(), b"\0" * 4))
    assert time.monotonic() - began < 5


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not a regular file"):
        load_field(tmp_path / "pipe")


@pytest.mark.parametrize("changes", [{"signal": 3}, {"signal": []}, {"convention": "x"}, {"convention": []}])
def test_metadata_that_a_field_could_not_use_is_refused(tmp_path, changes):
    save_field(tmp_path / "f.safetensors", small_siren(), changes)
    with pytest.raises(FileError, match="broken header"):
        staf.load(tmp_path / "f.safetensors")


def _places(value, prefix=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*prefix, key)
        yield from _places(inner, (*prefix, key))


SIGNALS = {
    "image": lambda: Image(np.zeros((3, 4, 3), np.uint8)),
    "audio": lambda: Audio(np.zeros(30, np.float32), 100),
    "shape": lambda: Shape.sphere(subdivisions=1, resolution=4),
    "grid": lambda: Grid(np.zeros((3, 4, 5, 2), np.float32)),
    "video": lambda: Video(np.zeros((2, 3, 4, 3), np.uint8)),
}


@pytest.mark.parametrize("kind", SIGNALS)
def test_altered_headers_load_or_are_refused_and_nothing_else(tmp_path, kind):
    values = [None, True, -1, 0, 2**64, 1.5, math.nan, math.inf, "", "x", "I32", "F64", [], [[]], {}, {"a": 1},
              10**12, 1e300, 1e308, [10**9, 10**9], [-1e300, 1e300], "x" * 10**6, [1] * 10**4]  # fmt: skip
    chance = random.Random(0)
    path, signal = tmp_path / "f.safetensors", SIGNALS[kind]()
    network = staf.siren(signal.in_features, signal.out_features, width=4, depth=2)
    save_field(path, network, {"signal": signal.metadata(), "convention": "ends", "notes": ["a"]})
    assert staf.load(path).signal.shape == signal.shape
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    refused: list[str] = []
    rounds = 40
    for _ in range(rounds):
        header = json.loads(whole[8 : 8 + length])
        about = header["__metadata__"]["staf"] = json.loads(header["__metadata__"]["staf"])
        place = chance.choice(list(_places(header)))
        parent = header
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = chance.choice(values)
        if isinstance(header.get("__metadata__"), dict):
            header["__metadata__"]["staf"] = json.dumps(header["__metadata__"].get("staf", about))
        forge(path, header, whole[8 + length :])
        try:
            field = staf.load(path)
            repr(field)
            repr(field.signal)
            if field.signal.points <= 100:
                field.render()
        except (FileError, SignalError) as error:
            refused.append(str(error))
    assert len(refused) > rounds / 2
    assert max(map(len, refused)) < 1000


def test_deep_nesting_is_a_broken_header(tmp_path):
    raw = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(FileError, match="broken header"):
        read_header(forge(tmp_path / "f.safetensors", raw))
    assert len(raw) < MAX_HEADER_BYTES


@pytest.mark.parametrize("inner", [False, True])
def test_a_header_of_millions_of_entries_is_refused_in_little_memory(tmp_path, inner):
    crowd = "[" + "[]," * 2**20 + "1]"
    raw = json.dumps({"__metadata__": {"staf": crowd}}) if inner else f'{{"a":{crowd}}}'
    path = forge(tmp_path / "f.safetensors", raw.encode())
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match="broken header"):
            read_header(path)
        assert tracemalloc.get_traced_memory()[1] < 5 * len(raw)
    finally:
        tracemalloc.stop()


def test_a_given_module_keeps_its_tied_weights_and_types(tmp_path):
    def tied():
        module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 3))
        module[1].weight = module[0].weight
        return module

    saved, given = tied(), tied().double()
    save_field(tmp_path / "f.safetensors", saved, {})
    load_field(tmp_path / "f.safetensors", given)
    assert given[0].weight is given[1].weight
    assert torch.equal(given[0].weight, saved[0].weight.double())


def test_metadata_cannot_hide_what_the_file_is(tmp_path):
    field, path = small_siren(), tmp_path / "f.safetensors"
    save_field(path, field, {"kind": "mesh", "format": 99, "architecture": {"name": "staf"}, "colour": "red"})
    loaded, metadata = load_field(path)
    assert loaded.architecture == field.architecture
    assert metadata["colour"] == "red"
