"""Empirical tangent kernels of fresh networks: what the two figures on images and on audio share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paper.study.rows import Row

ROWS = {
    "STAF, τ = 5": Row("STAF, τ = 5", "staf"),
    "STAF, τ = 2": Row("STAF, τ = 2", "staf", {"terms": 2}),
    "STAF, τ = 5, ours": Row("STAF, τ = 5, ours", "staf"),
    "FINER": Row("FINER", "finer"),
    "SIREN": Row("SIREN", "siren"),
    "FFN": Row("FFN", "ffn", {"sigmoid": False}),
    "ReLU": Row("ReLU", "relu"),
}
NAMES = list(ROWS)
PROTOCOL = (
    "fresh networks with the paper's constants (STAF: Theorem 3.1), four layers of 256, kernel summed over channels in "
    "float64; `above 1e-6` counts eigenvalues above that share of the largest; `in the first tenth` is the share of "
    "the signal's energy, its mean removed, along the first tenth of the eigenvectors"
)


def look(signal: Any, seed: int, device: str, points: int, width: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Spectra of all networks on `points` points of the signal, and the arrays of the figure."""
    from staf.analysis import compare_kernels
    from staf.analysis.points import few_points
    from staf.planning import plan

    part = few_points(signal, points)
    fields = {}
    for name, row in ROWS.items():
        if name.endswith("ours"):
            fields[name] = _field(plan(signal, device="cpu"), {"width": width}, seed)
        else:
            fields[name] = _published(signal, row, width, seed)
    fields = {name: field.to(device) for name, field in fields.items()}
    found = compare_kernels(fields, part.coordinates, part.shape, part.target)
    rows = {
        str(row["network"]): {
            "largest": row["largest"],
            "trace": row["trace"],
            "effective rank": row["effective rank"],
            "above 1e-6": row["above 1e-6"],
            "in the first tenth": row["target in the first tenth"],
        }
        for row in found.rows()
    }
    plain = found.to_plain()
    return rows, {key: np.asarray(plain[key]) for key in ("eigenvalues", "eigenfunctions", "cumulative")}


def _published(signal: Any, row: Row, width: int, seed: int) -> Any:
    from paper.protocols.published import paper_plan

    return _field(paper_plan(signal, row.model, signal.kind), {**row.arguments, "width": width}, seed)


def _field(plan: Any, arguments: Mapping[str, Any], seed: int) -> Any:
    from paper.protocols.published import with_arguments

    return with_arguments(plan, **arguments).field(seed)


def figure(arrays: Mapping[str, Any]) -> Any:
    """Eigenfunctions, eigenvalues, and how the signal lies along them."""
    from staf.figures.analysis import ntk_comparison

    return ntk_comparison({"names": NAMES, **arrays})
