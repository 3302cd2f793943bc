"""Kernels of several networks on one signal: the paper's comparison, and what the sinusoids' own parameters add."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.analysis.ntk import empirical_ntk
from staf.analysis.selection import selected_parameters
from staf.analysis.spectrum import Array, Spectrum, alignment, count_for, ntk_spectrum
from staf.nn import ffn, finer, siren, staf


def paper_networks(in_features: int, out_features: int, *, width: int = 256, seed: int = 0) -> dict[str, nn.Module]:
    """The networks of the paper's kernel figures: STAF (tau 2, 5), FINER, SIREN, FFN, and this library's STAF.

    One coordinate means audio, whose first layers have omega0 = 3000; otherwise omega0 = 30 (90 in this library's
    STAF). Each network starts from its own generator of `seed`.

    >>> list(paper_networks(2, 3, width=8))
    ['STAF, τ = 5', 'STAF, τ = 2', 'STAF, ours', 'FINER', 'SIREN', 'FFN']
    """
    audio = in_features == 1
    first: Document = {"omega0": 3000.0, "hidden_omega0": 30.0} if audio else {"omega0": 30.0}
    ours: Document = {"omega0": 3000.0} if audio else {}

    def common() -> Document:
        return {"width": width, "generator": torch.Generator().manual_seed(seed)}

    return {
        "STAF, τ = 5": staf(in_features, out_features, terms=5, law="theorem", weights="torch", **first, **common()),
        "STAF, τ = 2": staf(in_features, out_features, terms=2, law="theorem", weights="torch", **first, **common()),
        "STAF, ours": staf(in_features, out_features, **ours, **common()),
        "FINER": finer(in_features, out_features, **first, **common()),
        "SIREN": siren(in_features, out_features, **first, **common()),
        "FFN": ffn(in_features, out_features, **common()),
    }


@dataclass(frozen=True)
class Comparison:
    """Spectra of several networks' kernels on one grid, and the share of a target's energy along each."""

    names: list[str]
    shape: tuple[int, ...]
    spectra: list[Spectrum]
    cumulative: list[Array] | None

    def rows(self) -> list[Document]:
        """One row a network: largest eigenvalue, trace, ranks, and the target's share along the first tenth."""
        rows = []
        for index, (name, spectrum) in enumerate(zip(self.names, self.spectra, strict=True)):
            row: Document = {
                "network": name,
                "largest": float(spectrum.eigenvalues[0]),
                "trace": float(spectrum.eigenvalues.sum()),
                "effective rank": spectrum.effective_rank,
                "above 1e-6": spectrum.rank(),
            }
            if self.cumulative is not None:
                tenth = max(1, len(spectrum.eigenvalues) // 10)
                row["target in the first tenth"] = float(self.cumulative[index][tenth - 1])
                row["for 90% of the target"] = count_for(self.cumulative[index], 0.9)
            rows.append(row)
        return rows

    def to_plain(self, functions: int = 5) -> Document:
        """Arrays to draw from: `eigenvalues` and `cumulative` (networks, m), `eigenfunctions` (networks, k, *shape)."""
        data: Document = {
            "names": self.names,
            "eigenvalues": np.stack([spectrum.eigenvalues for spectrum in self.spectra]),
            "eigenfunctions": np.stack([spectrum.eigenfunctions(self.shape, functions) for spectrum in self.spectra]),
        }
        if self.cumulative is not None:
            data["cumulative"] = np.stack(self.cumulative)
        return data


def compare_kernels(
    fields: Mapping[str, nn.Module],
    coordinates: Float[Tensor, "n d"],
    shape: Sequence[int],
    target: Float[Tensor, "n c"] | None = None,
    *,
    roles: str | Collection[str] = "all",
    dtype: torch.dtype | None = torch.float64,
    memory: int = 2**30,
) -> Comparison:
    """Spectra of the fields' kernels (channels summed) on a grid, and the target's share along the eigenvectors.

    The target's mean is subtracted, channel by channel: a bias learns it at once, whatever the kernel. Kernels are made
    in float64, since eigenvectors whose eigenvalues lie below 1e-7 of the largest are noise in float32.

    >>> from staf.signals.grid import coordinates
    >>> found = compare_kernels(paper_networks(2, 1, width=8), coordinates((6, 6)), (6, 6))
    >>> len(found.rows())
    6
    """
    centred = None if target is None else (target - target.mean(0)).cpu()
    spectra, cumulative = [], []
    for field in fields.values():
        spectrum = ntk_spectrum(empirical_ntk(field, coordinates, roles=roles, dtype=dtype, memory=memory))
        spectra.append(spectrum)
        if centred is not None:
            cumulative.append(alignment(spectrum, centred))
    return Comparison(list(fields), tuple(shape), spectra, cumulative if centred is not None else None)


def role_shares(field: nn.Module, coordinates: Float[Tensor, "n d"], *, memory: int = 2**30) -> dict[str, float]:
    """How much of the kernel's trace each kind of parameter makes, beside its share of the parameters.

    The sinusoids of a layer are few, but each touches every neuron at once. In the NTK parametrisation (1/sqrt(width)
    after each activation) their part of the kernel is of order one at any width; with torch's or SIREN's weights the
    weights' part grows with the width, so the sinusoids' share falls, about like 1/width, while their number falls
    like 1/width^2.

    >>> from staf.nn import staf
    >>> shares = role_shares(staf(2, 1, width=16, depth=2), torch.rand(8, 2))
    >>> round(sum(shares[role] for role in ("weights", "amplitude", "frequency", "phase")), 5)
    1.0
    """
    parts = {
        "weights": ("matrix", "other"),
        "amplitude": ("amplitude",),
        "frequency": ("frequency",),
        "phase": ("phase",),
    }
    traces, counts = {}, {}
    for name, roles in parts.items():
        kernel = empirical_ntk(field, coordinates, roles=roles, memory=memory)
        traces[name] = float(kernel.diagonal().double().sum())
        counts[name] = _count(field, roles)
    total = sum(traces.values())
    shares = {name: trace / total for name, trace in traces.items()}
    activations = sum(counts[name] for name in ("amplitude", "frequency", "phase"))
    return {**shares, "activation parameters": activations / sum(counts.values())}


def _count(field: nn.Module, roles: Collection[str]) -> int:
    return sum(parameter.numel() for parameter in selected_parameters(field, roles).values())
