from __future__ import annotations

import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from staf.metrics import iou


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_agrees_with_sets(pairs):
    first, second = ({i for i, pair in enumerate(pairs) if pair[side]} for side in (0, 1))
    expected = len(first & second) / len(first | second) if first | second else 1.0
    prediction, target = torch.tensor(pairs).T
    assert float(iou(prediction, target)) == expected


def test_volumes_of_any_shape_count_exactly():
    target = torch.zeros(300, 300, 300, dtype=torch.bool)
    target[:200] = True
    prediction = target.clone()
    prediction[0, 0, 0] = False
    assert float(iou(prediction, target)) == (200 * 300 * 300 - 1) / (200 * 300 * 300)


def test_two_shapes_are_refused():
    with pytest.raises(ValueError, match="the same shape"):
        inspect.unwrap(iou)(torch.ones(2, dtype=torch.bool), torch.ones(3, dtype=torch.bool))
