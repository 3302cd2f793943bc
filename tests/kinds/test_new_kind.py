"""A new kind of signal is one folder (tests/kinds/toy): nothing else of the package knows it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staf
from staf.cli import main
from staf.kinds import register, unregister
from staf.kinds.registry import kinds
from staf.reports import write_run
from tests.kinds.toy import KIND

NUMBERS = 5 + 4 * np.sin(np.arange(40) / 6)


@pytest.fixture
def toy():
    register(KIND)
    yield
    unregister("toy")


@pytest.fixture
def file(toy, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    from tests.kinds.toy.signal import Toy

    return Toy(NUMBERS).save(tmp_path / "numbers.toy")


def test_nothing_in_the_package_knows_it():
    source = Path(staf.__file__).parent
    named = [path for path in source.rglob("*.py") if '"toy"' in path.read_text("utf-8")]
    assert named == []


def test_it_opens_fits_saves_loads_renders_and_reports(file):
    signal = staf.open(file)
    assert (type(signal).__name__, signal.name, signal.source) == ("Toy", "numbers", str(file))
    assert np.array_equal(np.asarray(signal), NUMBERS)
    fit = staf.fit(signal, field=staf.siren(1, 1, width=32, depth=2), steps=200, progress=False)
    assert fit.metrics["psnr"] > 20
    assert np.abs(np.asarray(fit.reconstruction) - NUMBERS).max() < 2
    loaded = staf.load(fit.save("toy.safetensors"))
    assert loaded.render(scale=3).shape == (120,)
    paths = write_run(fit, "run")
    assert paths.reconstruction == Path("run/reconstruction.toy")
    assert "40 numbers beside 40" in paths.report.read_text("utf-8")
    assert json.loads(paths.config.read_text())["signal"]["kind"] == "toy"
    assert staf.open(paths.reconstruction).shape == (40,)
    assert "dB" in fit._repr_html_()


def test_the_command_line_fits_renders_and_exports_it(file, capsys):
    assert main(["fit", str(file), "--steps", "3", "--out", "run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["files"]["reconstruction"] == "run/reconstruction.toy"
    command = json.loads(Path("run/config.json").read_text())["reproduce"]["command"]
    assert command.startswith(f"staf fit {file} ")
    assert main(["render", "run/model.safetensors", "-o", "again.toy"]) == 0
    assert main(["export", "run", "-o", "exported.toy"]) == 0
    assert staf.open("again.toy").shape == staf.open("exported.toy").shape == (40,)
    assert main(["export", "run", "-o", "exported.png"]) == 2
    assert "a fitted list of numbers is written as .toy" in capsys.readouterr().err


def test_its_limit_is_named_like_every_other(file):
    with pytest.raises(staf.SignalError, match=r"cannot open .*: it holds 40 numbers, more than 9"):
        staf.open(file, max_pixels=9)


def test_a_folder_beside_the_others_is_found(tmp_path):
    """The toy's folder, copied into a copy of the package, needs no registration."""
    import shutil

    package = tmp_path / "staf"
    shutil.copytree(Path(staf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(__file__).parent / "toy", package / "kinds" / "toy")
    for path in (package / "kinds" / "toy").glob("*.py"):
        path.write_text(path.read_text().replace("tests.kinds.toy", "staf.kinds.toy"))
    (tmp_path / "a.toy").write_text("TOY\n1\n2\n")
    code = "import staf; print(repr(staf.open('a.toy').shape), staf.kinds.Toy.__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "(2,) Toy\n", done.stderr


def test_names_are_unique(toy):
    with pytest.raises(ValueError, match="the kind 'toy' is registered already"):
        register(KIND)
    with pytest.raises(ValueError, match="the kind 'image' was not added with register"):
        unregister("image")


def test_every_folder_is_a_kind():
    folders = {path.parent.name for path in (Path(staf.__file__).parent / "kinds").glob("*/__init__.py")}
    assert folders == set(kinds())
    for name in folders:
        kind = importlib.import_module(f"staf.kinds.{name}").KIND
        assert kind.name == name == kind.load().kind
        assert all(format.kind == name for format in kind.formats)
