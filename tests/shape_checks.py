"""The type checker of the tests: beartype, with whole numbers accepted where floats are (PEP 484's tower)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from beartype import BeartypeConf, beartype

CHECKED = ["staf.ops", "staf.nn", "staf.metrics"]

check = beartype(conf=BeartypeConf(is_pep484_tower=True))


class UncheckedKernels(MetaPathFinder):
    """Modules of Triton and Gluon kernels are imported as they are.

    Triton compiles the source of a kernel in its module's own namespace; a function that a type checker has wrapped is
    not a kernel any more.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.rpartition(".")[2]
        is_kernel = fullname.startswith("staf.ops.") and ("triton" in name or "gluon" in name)
        return PathFinder.find_spec(fullname, path, target) if is_kernel else None


def install() -> None:
    """Check the shapes and types of every module of `CHECKED` that is imported from now on."""
    from jaxtyping import install_import_hook

    install_import_hook(CHECKED, "tests.shape_checks.check")
    sys.meta_path.insert(0, UncheckedKernels())
