from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from staf._jsonable import canonical, digest, jsonable


@dataclass(frozen=True)
class Inner:
    size: tuple[int, int]
    where: Path


def test_dataclasses_become_json():
    assert jsonable({"a": Inner((1, 2), Path("x/y"))}) == {"a": {"size": [1, 2], "where": "x/y"}}


def test_numbers_that_json_lacks_read_back_as_floats():
    written = jsonable([math.inf, -math.inf, math.nan, 0.1])
    assert [float(v) for v in written[:2]] == [math.inf, -math.inf]
    assert math.isnan(float(written[2]))
    assert written[3] == 0.1


@pytest.mark.parametrize("value", [np.zeros(2), {1: 2}, {1, 2}, object()])
def test_other_things_are_refused(value):
    with pytest.raises(TypeError):
        jsonable(value)


def test_equal_data_has_one_text_whatever_its_order():
    assert canonical({"b": 1.0, "a": "é"}) == canonical({"a": "é", "b": 1.0})
    assert digest({"a": 1}) != digest({"a": 2})
