"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import staf

# Modules that need something this machine may not have.
OPTIONAL = ("triton",)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(staf.__path__, "staf.")
    if module.name.rsplit(".")[-1] not in OPTIONAL and not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["staf", *MODULES])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
