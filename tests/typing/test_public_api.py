"""The package says that it is typed; `make types` checks `uses.py`, users' code that is strictly typed."""

from __future__ import annotations

from pathlib import Path

import staf


def test_the_package_says_that_it_is_typed():
    assert (Path(staf.__file__).parent / "py.typed").is_file()
