"""The names of the networks, known without importing torch: help texts list them."""

from __future__ import annotations

import pkgutil
import sys
from pathlib import Path

# The order of the paper's tables; others follow by name.
PAPER_ORDER = ("staf", "siren", "finer", "wire", "gauss", "ffn", "pemlp", "mfn", "incode")
FOLDER = Path(__file__).parent / "nn" / "networks"
# Networks of one kind of signal alone, which are made of the layers of another: `--model` names those.
SCENE_NETWORKS = ("radiance", "radiance_grid")
NO_NETWORKS = ("spec", *SCENE_NETWORKS)


def network_files() -> list[str]:
    """The networks that have a file in `staf/nn/networks`, in order.

    >>> network_files()[:3]
    ['staf', 'siren', 'finer']
    """
    found = {module.name for module in pkgutil.iter_modules([str(FOLDER)])} - set(NO_NETWORKS)
    return [*(name for name in PAPER_ORDER if name in found), *sorted(found.difference(PAPER_ORDER))]


def network_names() -> list[str]:
    """All networks: those of the files, and those that were registered."""
    known = getattr(sys.modules.get("staf.nn.networks"), "NETWORKS", None)
    return list(known) if known else network_files()
