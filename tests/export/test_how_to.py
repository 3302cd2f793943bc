"""The examples of the page in other languages run, with stand-ins for the libraries that are not installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from staf.export import export_c, export_onnx
from tests.export.fields import image_field

SHIM = Path(__file__).parent / "shim"
PAGE = Path(__file__).parents[2] / "docs/how-to/export.md"


def example(language: str) -> str:
    return PAGE.read_text("utf-8").split(f"```{language}\n")[1].split("```")[0]


def built(folder: Path, source: str) -> list[float]:
    """What a C++ program prints."""
    (folder / "main.cpp").write_text(source)
    names = ['-DINPUT="coordinates"', '-DOUTPUT="values"', f"-I{SHIM}", "-I."]
    subprocess.run(["g++", "-Wall", "-Werror", *names, "main.cpp", "-o", "main"], cwd=folder, check=True)
    told = subprocess.run([folder / "main"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [float(number) for number in told.split()]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_cpp(tmp_path: Path):
    field = image_field(width=8, depth=2)
    export_c(field, tmp_path / "photo.c")
    (tmp_path / "photo.onnx").touch()
    includes, body = re.fullmatch(r"((?:#include .*\n)+)(.*)", example("cpp"), flags=re.DOTALL).groups()
    show = 'for (int i = 0; i < 6; i++) std::printf("%.9g ", values[i]);'
    told = built(tmp_path, f"#include <cstdio>\n{includes}int main() {{\n{body}\n{show}\n}}\n")
    expected = field(torch.tensor([[-1.0, -1.0], [0.0, 0.0]])).detach()
    assert np.allclose(told, expected.flatten(), atol=1e-5)
    assert np.allclose(built(tmp_path, example("c")), expected[1], atol=1e-5)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node")
def test_javascript(tmp_path: Path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    field = image_field(width=8, depth=2)
    path = export_onnx(field, tmp_path / "photo.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (given,), (wanted,) = session.get_inputs(), session.get_outputs()
    names = {"input": given.name, "output": wanted.name, "columns": given.shape[1]}
    (tmp_path / "names.json").write_text(json.dumps(names))
    rows, columns = field.render().array.shape[:2]
    source = example("js").replace("'onnxruntime-web'", f"'{(SHIM / 'onnxruntime-web.mjs').as_uri()}'")
    source = source.replace("[640, 480]", f"[{columns}, {rows}]")
    (tmp_path / "main.mjs").write_text(source + "\nif (!values) throw new Error('no values');\n")
    subprocess.run(["node", "main.mjs"], cwd=tmp_path, check=True)
    points = np.fromfile(tmp_path / "points.bin", np.float32).reshape(-1, 2)
    (values,) = session.run([wanted.name], {given.name: points})
    expected = field.render().array.astype(np.float32) / 255
    assert np.abs(values.clip(0, 1).reshape(expected.shape) - expected).max() < 0.51 / 255
