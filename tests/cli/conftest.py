"""The command in this process, in a folder of its own, on a picture small enough to fit in a moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from staf.cli import main
from staf.kinds import Image
from staf.kinds.shape.view import framed


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as strict JSON: nothing else may stand there."""
        return json.loads(self.out, parse_constant=pytest.fail)

    def refused(self) -> str:
        """The one line of a user's mistake."""
        assert self.code == 2
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("staf: ")
        return line.removeprefix("staf: ")


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch) -> None:
    """Pictures of meshes in reports are small: those of full size take seconds, and tests/reports looks at them."""
    monkeypatch.setattr("staf.kinds.shape.view.framed", lambda mesh: {**framed(mesh), "size": 64})


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def picture(here) -> Path:
    """A smooth 16x16 RGB picture."""
    y, x = np.mgrid[0:16, 0:16] / 16
    pixels = np.stack([x, y, (x + y) / 2], axis=-1)
    return Image((pixels * 255).astype(np.uint8)).save("picture.png")


@pytest.fixture
def staf(here, capsys) -> Callable[..., Ran]:
    """Run `staf ...` in this process."""

    def run(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        seen = capsys.readouterr()
        return Ran(code, seen.out, seen.err)

    return run


@pytest.fixture
def start(here) -> Callable[[Sequence[str]], subprocess.Popen[str]]:
    """Start `python -m staf ...` as a process of its own."""

    def begin(words: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "staf", *words],
            cwd=here,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin
