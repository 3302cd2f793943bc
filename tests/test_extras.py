"""`pip install staf` fits plain images; everything else names the extra that it needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from staf._extras import EXTRAS, MissingExtra, need

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
MODULES = {"scikit-image": "skimage", "point-cloud-utils": "point_cloud_utils", "PyWavelets": "pywt"}
OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules})


def modules_of(requirements: list[str]) -> set[str]:
    names = [re.match(r"[\w-]+", requirement).group() for requirement in requirements]
    return {MODULES.get(name, name) for name in names}


def test_the_table_is_that_of_the_project_file():
    extras = PROJECT["optional-dependencies"]
    assert {name: modules_of(extras[name]) for name in EXTRAS} == {n: set(m) for n, m in EXTRAS.items()}
    assert extras["all"] == [f"staf[{','.join(EXTRAS)}]"]
    assert not modules_of(PROJECT["dependencies"]) & set(OPTIONAL)


def test_a_broken_library_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_a_library.py").write_text("import what_it_needs")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="what_it_needs") as caught:
        need("plot", "half_a_library")
    assert not isinstance(caught.value, MissingExtra)
    with pytest.raises(ValueError, match="extra must be one of image, audio"):
        need("everything", "json")


def without_extras(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has none of the optional libraries."""
    block = f"""
import sys
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def found(name, path=None, target=None):
    return None if name.partition(".")[0] in {OPTIONAL!r} else real(name, path, target)
PathFinder.find_spec = found
"""
    command = [sys.executable, "-c", block + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=200)


@pytest.fixture
def folder(tmp_path):
    import PIL.Image

    pixels = np.random.default_rng(0).integers(0, 255, (8, 9, 3), dtype=np.uint8)
    for name in ("photo.png", "photo.jpg"):
        PIL.Image.fromarray(pixels).save(tmp_path / name)
    (tmp_path / "deep.png").write_bytes(
        bytes.fromhex("89504e470d0a1a0a0000000d49484452000000040000000410020000")
        + bytes.fromhex("00000000000000000000000000000000")
    )
    (tmp_path / "a.tif").write_bytes(b"II*\0\x08\0\0\0" + bytes(32))
    (tmp_path / "a.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt " + bytes(32))
    (tmp_path / "a.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    return tmp_path


def test_plain_images_need_no_extra(folder):
    code = """
from staf.cli import main
for name in ("photo.png", "photo.jpg"):
    assert main(["fit", name, "--steps", "2", "--out", name[-3:]]) == 0
assert main(["render", "png/model.safetensors", "--scale", "2", "-o", "big.png"]) == 0
"""
    done = without_extras(code, folder)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (folder / "jpg" / "report.html").stat().st_size > 10_000
    assert (folder / "big.png").exists()


def test_the_error_has_the_pip_line(folder):
    code = """
from staf.cli import main
import staf
for words in (["fit", "a.wav"], ["compare", "photo.png"], ["denoise", "photo.png"]):
    assert main(words) == 2, words
for use in (lambda: staf.kinds.sample_photo(), lambda: staf.Shape.sphere(), lambda: staf.figures.style.new_figure(1, 1),
            lambda: staf.open("photo.png").save("out.tif"), lambda: staf.open("deep.png"),
            lambda: staf.open("a.tif")):
    try:
        use()
    except ImportError as error:
        print(error, file=sys.stderr)
    except staf.SignalError as error:
        print(error, file=sys.stderr)
"""
    done = without_extras(code, folder)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stderr.strip().splitlines()
    named = [line.partition("pip install ")[2].strip("'") for line in lines]
    assert named[:6] == [f"staf[{e}]" for e in ("audio", "plot", "plot", "image", "shape", "plot")], lines
    assert all(one == "staf[image]" for one in named[6:7]), lines
    assert "a.wav" in lines[0]
    assert not (folder / "runs").exists()
