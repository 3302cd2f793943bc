from __future__ import annotations

import math

import numpy as np
import pytest

from staf.kinds import Audio, Image, from_metadata
from staf.signals import SignalError


@pytest.mark.parametrize("signal", [Image(np.zeros((4, 6, 3), np.uint8)), Audio(np.ones(9, np.float32), rate=8000)])
def test_each_kind_comes_back(signal):
    assert from_metadata(signal.metadata()).metadata() == signal.metadata()


@pytest.mark.parametrize("metadata", [3, None, [], "image", {}, {"kind": []}, {"kind": {}}, {"kind": "os.system"}])
def test_what_is_no_signal_is_refused(metadata):
    with pytest.raises(SignalError):
        from_metadata(metadata)


def test_numbers_out_of_range_are_refused():
    metadata = Image(np.zeros((4, 6), np.uint8)).metadata()
    with pytest.raises(SignalError, match=r"shape must be a whole number of at least 1, got inf"):
        from_metadata({**metadata, "shape": [math.inf, 4]})
