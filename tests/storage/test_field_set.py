from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import staf
from staf.storage import file
from staf.storage.field_set import load_many


@pytest.fixture
def folder(tmp_path):
    def factory(generator):
        return staf.staf(2, 3, width=8, depth=2, terms=3, generator=generator)

    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (5, 4, 3), np.uint8) for _ in range(3)]
    recipe = staf.recipes.default(steps=3)
    staf.fit_many(pictures, recipe, plan=staf.Plan(factory, recipe), out=tmp_path / "set", progress=False)
    return tmp_path / "set"


def test_the_stack_holds_every_network(folder):
    loaded = load_many(folder)
    assert len(loaded) == 3
    assert loaded.architecture["name"] == "staf"
    for number, name in enumerate(loaded.names):
        single = staf.load(folder / "fields" / f"{name}.safetensors")
        for key, tensor in single.module.state_dict().items():
            assert torch.equal(loaded.tensors[key][number], tensor)
        assert loaded.metrics[number]["psnr"] == single.metadata["metrics"]["psnr"]
    matrix = loaded.matrix()
    assert matrix.shape == (3, sum(p.numel() for p in staf.staf(2, 3, width=8, depth=2, terms=3).parameters()))
    assert not torch.equal(matrix[0], matrix[1])


def test_names_choose_and_order(folder):
    names = load_many(folder).names[::-1][:2]
    assert load_many(folder, names).names == names
    with pytest.raises(ValueError, match=r"names must be listed in .*index.json, got 'nobody'"):
        load_many(folder, ["nobody"])


def test_two_architectures_are_not_stacked(folder):
    name = load_many(folder).names[1]
    field = staf.load(folder / "fields" / f"{name}.safetensors")
    other = staf.siren(2, 3, width=8, depth=2)
    staf.FittedField(other, field.metadata | {"architecture": other.architecture}).save(
        folder / "fields" / f"{name}.safetensors"
    )
    with pytest.raises(staf.FileError, match="another network"):
        load_many(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no index.json"),
        ("[]", "not an index"),
        ("{", "not an index"),
        (json.dumps({"fields": {"../evil": {}}}), "is not a file name"),
        (json.dumps({"fields": {}}), "lists no fitted fields"),
        (json.dumps({"fields": []}), "not an index of fitted fields: fields must be data by name"),
        (json.dumps({"fields": {"": {}}}), "is not a file name"),
        (json.dumps({"fields": {"a\0b": {}}}), "is not a file name"),
        (json.dumps({"fields": {"x" * 10**6: {}}}), "is not a file name"),
        ("[" * 10**5, "nested too deeply"),
    ],
)
def test_a_folder_that_is_none_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "index.json").write_text(text)
    with pytest.raises(staf.FileError, match=message):
        load_many(tmp_path)


def test_fields_that_do_not_fit_their_own_architecture_are_refused(folder):
    """Their tensors could not be stacked."""
    name = load_many(folder).names[1]
    path = folder / "fields" / f"{name}.safetensors"
    field = staf.load(path)
    tensors = field.module.state_dict()
    first = next(iter(tensors))
    file.write(path, {**tensors, first: tensors[first][:1]}, {**field.metadata, "kind": "field"})
    with pytest.raises(staf.FileError, match="its architecture needs"):
        load_many(folder)
