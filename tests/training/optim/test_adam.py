"""Adam of one launch against torch's."""

from __future__ import annotations

import pytest
import torch

SHAPES = [(700,), (3, 5), (256, 256), (), (1, 1, 5)]


@pytest.mark.gpu
@pytest.mark.parametrize("copies", [1, 9])
@pytest.mark.parametrize("dtypes", [(torch.float32,), (torch.float32, torch.complex64)], ids=str)
def test_it_takes_the_steps_of_torch(copies, dtypes):
    from staf.training.optim.adam import FlatAdam

    generator = torch.Generator("cuda").manual_seed(0)

    def draw() -> list[torch.Tensor]:
        return [
            torch.randn(shape, device="cuda", generator=generator, dtype=dtypes[index % len(dtypes)])
            for index, shape in enumerate(SHAPES * copies)
        ]

    mine = [torch.nn.Parameter(tensor) for tensor in draw()]
    theirs = [torch.nn.Parameter(parameter.detach().clone()) for parameter in mine]
    rates = torch.tensor([1e-2, 3e-3], device="cuda")
    ours = FlatAdam([mine[::2], mine[1::2]], rates)
    groups = [{"params": theirs[start::2], "lr": float(rates[start])} for start in range(2)]
    reference = torch.optim.Adam(groups)
    for step in range(5):
        for gradient, a, b in zip(draw(), mine, theirs, strict=True):
            a.grad, b.grad = gradient, gradient.clone()
        ours.step()
        reference.step()
        assert float(ours.count) == step + 1
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == ours.state[a]["exp_avg"].dtype == ours.state[a]["exp_avg_sq"].dtype == b.dtype
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(ours.state[a]["exp_avg_sq"], reference.state[b]["exp_avg_sq"])
