"""C source has the values of the field when a compiler has built it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from staf.api import FittedField
from staf.export.c_source import export_c
from staf.export.describe import describe
from staf.export.evaluate import evaluate
from tests.export.fields import audio_field, image_field
from tests.export.networks import NETWORKS, make, make_radiance, points

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def compiled(source: Path) -> ctypes.CDLL:
    library = source.with_suffix(".so")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def run(library: ctypes.CDLL, coordinates: torch.Tensor, outputs: int) -> np.ndarray:
    x, out = coordinates.numpy().astype(np.float32), np.zeros((len(coordinates), outputs), np.float32)
    pointer = ctypes.POINTER(ctypes.c_float)
    for point, values in zip(x, out, strict=True):
        library.field(point.ctypes.data_as(pointer), values.ctypes.data_as(pointer))
    return out


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network(name: str, tmp_path: Path):
    field, x = FittedField(make(name, width=10), {}), points(100)
    got = run(compiled(export_c(field, tmp_path / "field.c")), x, 3)
    expected = field(x).detach().numpy()
    rounding = np.abs(evaluate(describe(field.module), x.double().numpy()) - expected).max()
    assert np.abs(got - expected).max() < 1e-5 + 3 * rounding


@pytest.mark.parametrize("name", ["radiance-harmonics", "radiance_grid-finer"])
def test_networks_of_scenes(name: str, tmp_path: Path):
    field, x = FittedField(make_radiance(name), {}), points(100, 6)
    got = run(compiled(export_c(field, tmp_path / "field.c")), x, 4)
    assert np.abs(got / field(x).detach().numpy() - 1).max() < 1e-4


def test_values_are_in_the_units_of_the_signal(tmp_path: Path):
    field, x = audio_field(channels=2), points(50, 1)
    got = run(compiled(export_c(field, tmp_path / "field.c")), x, 2)
    assert np.allclose(got, field(x).detach().numpy(), atol=1e-5)


def test_a_name_cannot_end_the_comment(tmp_path: Path):
    field = image_field()
    field.metadata["signal"]["name"] = "*/ int system(const char *); /*"
    text = export_c(field, tmp_path / "field.c").read_text()
    assert "system" not in text
    assert "row (from the top), then column (from the left); sample i of n lies at (2 i + 1) / n - 1." in text


def test_the_example_of_the_documentation(tmp_path: Path):
    field = image_field()
    export_c(field, tmp_path / "photo.c")
    page = (Path(__file__).parents[2] / "docs/how-to/export.md").read_text("utf-8")
    (tmp_path / "main.c").write_text(page.split("```c\n")[1].split("```")[0])
    subprocess.run(["cc", "main.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout.split()
    assert np.allclose([float(number) for number in told], field(torch.zeros(1, 2)).detach()[0], atol=1e-5)


def test_a_wide_network(tmp_path: Path):
    field, x = FittedField(make("siren", width=256, depth=2), {}), points(20)
    got = run(compiled(export_c(field, tmp_path / "field.c")), x, 3)
    assert np.allclose(got, field(x).detach().numpy(), atol=1e-5)
