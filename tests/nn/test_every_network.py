"""No place forgets a network: each of `NETWORKS` is in the documentation, the plans, the files and the tests."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import staf
from staf._networks import PAPER_ORDER, SCENE_NETWORKS, network_files, network_names
from staf.cli.options import MODEL_NAMES
from staf.kinds import Audio, Image, Shape
from staf.kinds.shape.task import Occupancy
from staf.nn import NETWORKS
from staf.planning import Budget, plan, recipes
from staf.tasks import Denoising, Reconstruction, SuperResolution
from tests.nn.networks import VARIANTS

ROOT = Path(__file__).resolve().parents[2]
every = pytest.mark.parametrize("name", NETWORKS)


def parameters(name: str, **arguments: Any) -> int:
    return sum(p.numel() for p in NETWORKS[name].factory(2, 3, device="meta", **arguments).parameters())


def test_the_networks_are_the_files_of_the_folder_in_the_papers_order() -> None:
    assert list(NETWORKS) == network_files() == network_names() == list(MODEL_NAMES)
    assert tuple(NETWORKS)[: len(PAPER_ORDER)] == PAPER_ORDER
    folder = ROOT / "src" / "staf" / "nn" / "networks"
    assert {path.stem for path in folder.glob("[a-z]*.py")} == {*NETWORKS, *SCENE_NETWORKS, "spec"}


@every
def test_a_spec_is_complete(name: str) -> None:
    spec = NETWORKS[name]
    assert spec.name == spec.factory.__name__ == name
    assert spec.formula
    assert spec.source
    assert spec.summary
    assert {"super_resolution", "denoising"} <= set(spec.restoration)
    assert set(spec.restoration) <= {"super_resolution", "inpainting", "denoising", "tomography"}
    for preset in spec.presets.values():
        assert preset.summary.endswith(".")
        assert getattr(recipes, preset.recipe)().convention == "ends"
    assert any(p.is_complex() for p in spec.factory(2, 3, width=8).parameters()) == spec.complex_weights


@every
def test_the_documentation_has_its_rows_and_its_parameters(name: str) -> None:
    spec = NETWORKS[name]
    table = (ROOT / "docs" / "networks.md").read_text("utf-8").splitlines()
    assert spec.rows
    for row, line in zip(spec.rows, spec.table(), strict=True):
        assert line in table
        assert parameters(name, **row.arguments) == row.parameters
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"| `staf.{name}` | {spec.summary} | {spec.rows[0].parameters:,}" in readme


def test_the_documentation_has_no_other_network() -> None:
    rows = re.findall(r"^\| `(\w+)\(.*?\)` \|", (ROOT / "docs" / "networks.md").read_text("utf-8"), flags=re.M)
    assert list(dict.fromkeys(rows)) == list(NETWORKS)


@every
def test_the_reference_and_the_package_have_its_factory(name: str) -> None:
    assert f"::: staf.nn.networks.{name}\n" in (ROOT / "docs" / "api" / "networks.md").read_text("utf-8")
    assert getattr(staf, name) is getattr(staf.nn, name) is NETWORKS[name].factory


@every
def test_the_shared_tests_walk_through_it(name: str) -> None:
    assert name in VARIANTS


def picture() -> Image:
    return Image(np.random.default_rng(0).integers(0, 256, (16, 12, 3), np.uint8))


def recording() -> Audio:
    return Audio(np.sin(np.arange(1600) * 0.3), 8000)


def array(*shape: int) -> Any:
    """An array of any dimension, as a grid of samples."""
    values = np.random.default_rng(0).standard_normal((*shape, 2)).astype(np.float32)
    range_ = (float(values.min()), float(values.max()))
    facts = {"in_features": len(shape), "out_features": 2, "shape": shape, "value_range": range_}
    return SimpleNamespace(kind="grid", array=values, **facts)


SOURCES: dict[str, Callable[[], Any]] = {
    "image": picture,
    "task of an image": lambda: Reconstruction(picture()),
    "audio": recording,
    "shape": lambda: Shape.sphere(resolution=8),
    "task of a shape": lambda: Occupancy(Shape.sphere(resolution=8)),
    "super-resolution": lambda: SuperResolution(picture(), 2, samples=2),
    "denoising": lambda: Denoising(picture(), generator=torch.Generator().manual_seed(0)),
    "1-D array": lambda: array(50),
    "2-D array": lambda: array(9, 11),
    "3-D array": lambda: array(6, 7, 8),
    "4-D array": lambda: array(4, 5, 4, 3),
}


@every
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_kind_and_task_has_a_plan(
    name: str, source: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    signal = SOURCES[source]()
    chosen = plan(signal, Budget(steps=400), device=device, model=name)
    assert {"network", "optimiser", "rate", "batch", "budget"} <= set(chosen.reasons)
    assert all(chosen.reasons.values())
    assert chosen.recipe.steps == 400
    field = chosen.field(0)
    assert field.architecture["name"] == name
    if not hasattr(field, "bind"):
        assert field(torch.zeros(2, signal.in_features)).shape == (2, signal.out_features)


@every
def test_a_saved_file_opens_as_the_same_function(name: str, tmp_path: Path) -> None:
    field = NETWORKS[name].factory(2, 3, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(picture(), field=field, steps=1, progress=False)
    fit.save(tmp_path / "f.safetensors")
    loaded, at = staf.load(tmp_path / "f.safetensors"), torch.linspace(-1, 1, 10).reshape(5, 2)
    assert loaded.module.architecture["name"] == name
    torch.testing.assert_close(loaded(at), fit.field(at))


def test_no_constant_of_a_spec_is_one_that_its_factory_does_not_take() -> None:
    for name, spec in NETWORKS.items():
        known = spec.factory(2, 3, device="meta").architecture["arguments"]
        for constants in spec.constants.values():
            assert {*constants.arguments, *constants.from_signal} <= set(known), name
        for settings in spec.restoration.values():
            assert set(settings.arguments((8, 8))) <= set(known), name
        for preset in spec.presets.values():
            spec.factory(2, 3, device="meta", **preset.arguments)
        assert dataclasses.replace(spec) == spec
