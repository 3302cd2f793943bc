"""Values without gradients: the mode, the precision and the chunks of a pass."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.ops.linear import current_precision, product_precision
from staf.training.prediction import in_chunks, predictor
from tests.training.problem import small_staf


class Watching(nn.Module):
    """Notes how it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.seen: list[tuple] = []

    def forward(self, x):
        self.seen.append((len(x), self.inner.training, torch.is_grad_enabled(), current_precision()))
        return self.inner(x)


def test_chunks_mode_and_gradients():
    module = Watching().train()
    module.inner.eval()
    out = predictor(module, 4)(torch.rand(10, 2))
    assert module.seen == [(4, False, False, "bf16x3"), (4, False, False, "bf16x3"), (2, False, False, "bf16x3")]
    assert not out.requires_grad
    assert module.training
    assert not module.inner.training


def test_training_parts_are_put_back_after_a_failure():
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    with pytest.raises(RuntimeError):
        predictor(module, 4)(torch.rand(3, 5))
    assert all(part.training for part in module.modules())


def test_a_mode_of_a_modules_own_is_set_as_it_wants():
    class Own(nn.Linear):
        asked: tuple[bool, ...] = ()

        @property
        def training(self):
            return self.asked[-1] if self.asked else True

        @training.setter
        def training(self, value):
            self.__dict__["asked"] = (*self.asked, value)

    module = Own(2, 3)
    predictor(nn.Sequential(module), 4)(torch.rand(3, 2))
    assert module.asked[-2:] == (False, True)


@pytest.mark.parametrize("name", ["fp32", "tf32"])
def test_a_precision_around_the_call_is_kept(name):
    module = Watching()
    with product_precision(name):
        predictor(module, 4)(torch.rand(3, 2))
    assert module.seen[0][3] == name
    assert current_precision() is None


def test_chunks_are_those_of_one_pass():
    field, x = small_staf(), torch.rand(50, 2)
    with torch.no_grad():
        torch.testing.assert_close(predictor(field, 7)(x), field(x), rtol=1e-5, atol=1e-5)
    assert in_chunks(lambda part: part, torch.zeros(0, 2), 3).shape == (0, 2)


@pytest.mark.parametrize("chunk", [0, -3])
def test_a_chunk_without_points_is_refused_by_name(chunk):
    with pytest.raises(ValueError, match=f"chunk must be at least 1 point, got {chunk}"):
        in_chunks(lambda part: part, torch.zeros(4, 2), chunk)
