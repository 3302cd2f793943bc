"""Dr.Jit's HashGridEncoding, an independent implementation, gives the same features."""

from __future__ import annotations

import pytest
import torch

from staf.ops import GridLayout, hash_grid

drjit = pytest.importorskip("drjit")


def oracle(resolution: int, dimensions: int, log2_entries: int, table, x):
    """One level with its vertices at the ends; Dr.Jit counts axes from the other side, on [0, 1]."""
    from drjit import hashgrid

    scalar = pytest.importorskip("drjit.llvm")
    try:
        grid = hashgrid.HashGridEncoding(
            scalar.Float,
            dimensions,
            n_levels=1,
            n_features_per_level=table.shape[1],
            hashmap_size=2**log2_entries,
            base_resolution=resolution + 1,
            per_level_scale=1.0,
            align_corners=True,
        )
        rows = int(grid.n_params) // table.shape[1]
        padded = torch.zeros(rows, table.shape[1])
        padded[: len(table)] = table
        grid.set_params(scalar.Float(padded.flatten().numpy()))
        axes = ((x.flip(-1) + 1) / 2).T.contiguous()
        found = grid([scalar.Float(axis.numpy()) for axis in axes])
        return torch.stack([torch.from_numpy(column.numpy()) for column in found], dim=-1)
    except RuntimeError as error:
        pytest.skip(f"Dr.Jit has no LLVM on this machine: {error}")


@pytest.mark.parametrize(
    ("dimensions", "resolution", "log2_entries"), [(2, 16, 10), (2, 300, 10), (3, 7, 10), (3, 100, 12), (4, 40, 12)]
)
def test_features_equal_dr_jits(dimensions, resolution, log2_entries):
    generator = torch.Generator().manual_seed(0)
    layout = GridLayout.geometric(dimensions, levels=1, log2_entries=log2_entries, coarsest=resolution, growth=1.0)
    table = torch.randn(layout.entries, 2, generator=generator)
    x = torch.rand(500, dimensions, generator=generator) * 1.999 - 1
    expected = oracle(resolution, dimensions, log2_entries, table, x)
    torch.testing.assert_close(hash_grid(x, table, layout), expected, rtol=1e-4, atol=2e-4)
