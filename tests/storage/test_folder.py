"""The folder of many fields: names, index, and what an earlier run has left."""

from __future__ import annotations

import json

import pytest

from staf.nn import siren
from staf.storage import FieldFolder, FileError
from staf.storage.folder import unique_names


@pytest.fixture
def folder(tmp_path):
    opened = FieldFolder(tmp_path / "set")
    for name in ("b", "a"):
        metadata = {"metrics": {"psnr": 20.0}, "seed": 0, "recipe": {"steps": 2, "schedule": {"name": "cosine"}}}
        opened.add(name, siren(2, 3, width=8, depth=2), metadata)
    opened.write_index(seed=0, recipe=None, failures={"c": "broken"}, order=["a", "b", "c"])
    return opened


def test_the_index_lists_what_was_added_in_the_order_given(folder):
    assert list(folder.files()) == ["a", "b"]
    document = json.loads((folder.path / "index.json").read_text())
    assert set(document) == {"format", "staf", "seed", "recipe", "fields", "failures"}
    assert document["format"] == 1
    assert document["fields"]["a"] == {"file": "fields/a.safetensors", "metrics": {"psnr": 20.0}}
    assert document["failures"] == {"c": "broken"}


def test_a_folder_that_holds_fits_is_resumed_or_replaced_or_refused(folder, tmp_path):
    with pytest.raises(FileExistsError, match="already holds fits: give resume=True"):
        FieldFolder.for_run(folder.path, resume=False, overwrite=False)
    for how in ({"resume": True, "overwrite": False}, {"resume": False, "overwrite": True}):
        assert FieldFolder.for_run(folder.path, **how).finished("a") is not None
    assert FieldFolder.for_run(tmp_path / "new", resume=False, overwrite=False).finished("a") is None


def test_finished_fields_are_those_that_open(folder):
    folder.file("b").write_bytes(b"damaged")
    assert folder.finished("b") is None
    assert folder.finished("nobody") is None
    again = FieldFolder(folder.path)
    again.keep("a", folder.finished("a"))
    again.write_index(seed=0, recipe=None, failures={}, order=["b", "a"])
    assert list(again.files()) == ["a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"a.safetensors was fitted with seed=0, got seed=1: resume with the same settings"),
        ({"recipe": {"steps": 3}}, "was fitted with steps=2, got steps=3"),
        ({"architecture": {"name": "staf"}}, "is another network"),
    ],
)
def test_other_settings_than_those_of_a_finished_field_are_refused(folder, change, message):
    same = {"seed": 0, "recipe": {"steps": 2, "added later": 1}, "architecture": None}
    folder.check_resumed("a", **same)
    folder.check_resumed("a", **same | {"architecture": siren(2, 3, width=8, depth=2).architecture})
    folder.check_resumed("nobody", **same | change)
    with pytest.raises(FileError, match=message):
        folder.check_resumed("a", **same | change)


def test_names_never_leave_the_folder(folder):
    with pytest.raises(FileError, match="is not a file name"):
        folder.file("../a")
    assert unique_names(["x/y", "x y", "x_y", "..", ""]) == ["x_y", "x_y-2", "x_y-3", "signal-00003", "signal-00004"]
