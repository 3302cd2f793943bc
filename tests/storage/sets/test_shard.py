from __future__ import annotations

import pytest
import torch

import staf
from staf.storage import FileError, file
from staf.storage.sets import Finished, Place, Shard, write_shards
from staf.storage.sets.shard import SHARDS


def finished(name, module, **metadata):
    return Finished.of(name, f"key of {name}", module, {"metrics": {"psnr": 20.0}, "seconds": 3.2, **metadata})


@pytest.mark.parametrize("where", ["folder", "memory"])
@pytest.mark.parametrize("model", [staf.staf, staf.wire])
def test_rows_are_the_fields(where, model, tmp_path):
    if where == "memory":
        pytest.importorskip("fsspec")
    place = Place(tmp_path if where == "folder" else f"memory://{tmp_path.name}-{model.__name__}")
    modules = [model(2, 3, width=5, depth=2, generator=torch.Generator().manual_seed(i)) for i in range(3)]
    fields = [finished(f"f{i}", module, steps=i) for i, module in enumerate(modules)]
    ((name, group),) = list(write_shards(place, fields))
    assert [field.name for field in group] == ["f0", "f1", "f2"]
    shard = Shard(place, name)
    for number in range(3):
        for key, tensor in modules[number].state_dict().items():
            assert torch.equal(shard.rows([2, number])[key][1], tensor)
    assert shard.metadata(1)["steps"] == 1
    assert "seconds" not in shard.metadata(1)


def test_the_same_fields_give_the_same_file(tmp_path):
    place = Place(tmp_path)
    fields = [finished("a", staf.siren(2, 3, width=5, depth=2, generator=torch.Generator().manual_seed(0)))]
    ((name, _),) = list(write_shards(place, fields))
    before = place.read(f"{SHARDS}/{name}")
    assert [again for again, _ in write_shards(place, fields)] == [name]
    assert place.read(f"{SHARDS}/{name}") == before


def test_each_architecture_has_its_own_shard(tmp_path):
    fields = [finished("a", staf.siren(2, 3, width=5, depth=2)), finished("b", staf.siren(2, 1, width=5, depth=2))]
    assert [[field.name for field in group] for _, group in write_shards(Place(tmp_path), fields)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "field"}, "is not a shard"),
        ({"fields": [{"name": "a"}]}, "list of fields is none"),
        ({"fields": []}, "there are 0 fields"),
        ({"architecture": {"name": "nobody", "arguments": {}}}, "cannot be built"),
    ],
)
def test_a_shard_of_a_stranger_is_checked(tmp_path, change, message):
    place, module = Place(tmp_path), staf.siren(2, 3, width=5, depth=2)
    state = {name: tensor[None] for name, tensor in module.state_dict().items()}
    good = {"kind": "shard", "architecture": module.architecture, "fields": [{"name": "a", "key": "k"}]}
    place.write(f"{SHARDS}/x.safetensors", file.encode(state, good))
    assert len(Shard(place, "x.safetensors")) == 1
    with pytest.raises(FileError, match="has 1 fields, and the index names row 1"):
        Shard(place, "x.safetensors").rows([0, 1])
    place.write(f"{SHARDS}/x.safetensors", file.encode(state, {**good, **change}))
    with pytest.raises(FileError, match=message):
        Shard(place, "x.safetensors")
    place.write(f"{SHARDS}/x.safetensors", file.encode(state, good)[:-4])
    with pytest.raises(FileError, match="truncated"):
        Shard(place, "x.safetensors")
