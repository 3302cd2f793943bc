from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from staf.kinds.audio.window_spans import fade, joined, spans
from staf.signals import SignalError, grid


@pytest.mark.parametrize(
    ("samples", "length", "overlap"),
    [(100, 40, 10), (101, 40, 1), (1000, 7, 3), (41, 40, 20), (26_460_000, 44100, 441)],
)
def test_windows_cover_everything_and_only_neighbours_overlap(samples, length, overlap):
    windows = spans(samples, length, overlap)
    assert windows[0][0] == 0
    assert windows[-1][1] == samples
    assert len({stop - start for start, stop in windows}) == 1
    assert windows[0][1] <= length
    for (_, stop), (start, _) in pairwise(windows):
        assert stop - start >= 1
        assert abs(stop - start - overlap) <= 1 or samples < 2 * length
    for (_, stop), (start, _) in zip(windows, windows[2:], strict=False):
        assert stop <= start


@pytest.mark.parametrize(("length", "overlap"), [(40, 0), (40, 21), (0, 1)])
def test_overlap(length, overlap):
    with pytest.raises(SignalError, match="overlap must be from 1 sample to half"):
        spans(1000, length, overlap)


@pytest.mark.parametrize("per_sample", [0.5, 1.0, 1.37, 2.0])
def test_the_weights_add_up_to_one(per_sample):
    windows = spans(1000, 130, 17)
    at = (torch.arange(round(1000 * per_sample), dtype=torch.float64) + 0.5) / per_sample
    total = sum(fade(at, windows, i) * ((at >= start) & (at < stop)) for i, (start, stop) in enumerate(windows))
    torch.testing.assert_close(total, torch.ones_like(at))


@pytest.mark.parametrize("per_sample", [0.5, 1.0, 1.37, 2.0])
def test_one_function_cut_into_windows_is_put_together_again(per_sample):
    samples = 1000
    windows = spans(samples, 130, 17)

    def wave(at: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.sin(at * 0.05), torch.cos(at * 0.03)], 1)

    predicts = [
        lambda x, start=start, stop=stop: wave(start + (x.double() + 1) / 2 * (stop - start)) for start, stop in windows
    ]
    out = joined(windows, predicts, 2, per_sample)
    at = (torch.arange(len(out), dtype=torch.float64)[:, None] + 0.5) / per_sample
    assert len(out) == round(samples * per_sample)
    np.testing.assert_allclose(out, wave(at).numpy(), atol=1e-5)


def test_windows_that_disagree_are_joined_without_a_click():
    windows = spans(2000, 300, 100)
    predicts = [lambda x, i=i: torch.full_like(x, i % 2) for i in range(len(windows))]
    out = joined(windows, predicts, 1)
    assert np.abs(np.diff(out[:, 0])).max() < 1.02 / 99
    assert (out.min(), out.max()) == (0, 1)


def test_local_coordinates_resolve_ten_minutes():
    """Neighbouring samples stay apart in float32 at the end of 26 million; on one axis they would not."""
    start, stop = spans(26_460_000, 44_100, 441)[-1]
    seen = []

    def predict(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x

    joined([(start, stop)], [predict], 1)
    local = seen[0][:, 0][-1000:].diff() * (stop - start) / 2
    assert (local - 1).abs().max() < 0.01
    whole = grid.coordinates((26_460_000,), index=torch.arange(stop - 1000, stop))[:, 0].diff() * 26_460_000 / 2
    assert (whole - 1).abs().max() > 0.1
