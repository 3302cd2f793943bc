"""Users' code that is strictly typed stays so with the library: every public name is exported and annotated."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import staf

HERE = Path(__file__).parent


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_users_code_passes_mypy_strict(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\nfollow_imports = silent\nignore_missing_imports = true\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, str(HERE / "uses.py")], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed():
    assert (Path(staf.__file__).parent / "py.typed").is_file()
