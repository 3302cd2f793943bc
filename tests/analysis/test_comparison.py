"""Several networks on one signal, and what each kind of parameter contributes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.analysis import alignment, compare_kernels, empirical_ntk, ntk_spectrum, paper_networks, role_shares
from staf.nn import staf
from staf.signals.grid import coordinates


def test_each_network_is_measured_on_the_same_points() -> None:
    shape = (7, 6)
    x = coordinates(shape)
    target = torch.stack([x[:, 0] + 3, x[:, 1] ** 2], 1)
    fields = paper_networks(2, 2, width=16)
    found = compare_kernels(fields, x, shape, target)
    assert found.names == list(fields)
    assert found.cumulative is not None
    expected = ntk_spectrum(empirical_ntk(fields["SIREN"], x, dtype=torch.float64))
    at = found.names.index("SIREN")
    assert np.array_equal(found.spectra[at].eigenvalues, expected.eigenvalues)
    assert np.allclose(found.cumulative[at], alignment(expected, target - target.mean(0)))
    rows = found.rows()
    assert rows[at]["trace"] == pytest.approx(float(empirical_ntk(fields["SIREN"], x).trace()), rel=1e-5)
    assert all(1 <= row["for 90% of the target"] <= 42 for row in rows)


def test_the_papers_networks() -> None:
    image = paper_networks(2, 3)
    assert sum(p.numel() for p in image["STAF, τ = 5"].parameters()) == 198_975
    assert sum(p.numel() for p in image["STAF, τ = 2"].parameters()) == 198_915 + 24
    audio = paper_networks(1, 1, width=8)
    assert audio["SIREN"].architecture["arguments"]["omega0"] == 3000
    assert audio["STAF, ours"].architecture["arguments"]["omega0"] == 3000
    again = paper_networks(1, 1, width=8)
    x = torch.linspace(-1, 1, 5)[:, None]
    assert all(torch.equal(audio[name](x), again[name](x)) for name in audio)


def test_shares_of_the_kernel_by_role() -> None:
    """Layer-shared sinusoids weigh far more than their number, less as a torch-parametrised network widens."""
    x = torch.rand(24, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    shares = []
    for width in (64, 256):
        generator = torch.Generator().manual_seed(0)
        field = staf(
            2, 1, width=width, depth=2, omega0=3, hidden_omega0=3, law="theorem", weights="torch", generator=generator
        )
        found = role_shares(field, x)
        sinusoids = found["amplitude"] + found["frequency"] + found["phase"]
        assert sinusoids + found["weights"] == pytest.approx(1, abs=1e-6)
        assert sinusoids > 3 * found["activation parameters"]
        shares.append(sinusoids)
    assert shares[1] < shares[0]
