from __future__ import annotations

import pytest

from paper.measures.network_size import LIMIT, matched_width, scalars
from staf.nn import NETWORKS


def architecture(model, **arguments):
    return {"name": model, "arguments": {"in_features": 2, "out_features": 3, **arguments}}


def test_sizes_are_the_published_counts():
    sizes = {model: scalars(architecture(model)) for model in NETWORKS}
    assert sizes["staf"] == 198_975
    assert sizes["siren"] == sizes["finer"] == sizes["gauss"] == 198_915
    assert sizes["mfn"] == 204_291
    assert sizes["ffn"] == 329_475
    # Complex weights are two numbers; the reader of the target is not saved.
    assert sizes["wire"] == 199_287
    assert 198_915 <= sizes["incode"] <= 198_915 + 16


# A hash grid's table does not follow the width.
@pytest.mark.parametrize("model", [name for name, spec in NETWORKS.items() if not spec.grid])
def test_the_matched_width_is_the_largest_that_fits(model):
    width = matched_width(architecture(model))
    assert scalars(architecture(model, width=width)) <= LIMIT < scalars(architecture(model, width=width + 2))


def test_a_limit_that_nothing_meets_is_refused():
    with pytest.raises(ValueError, match="limit must let ffn have a width of 1"):
        matched_width(architecture("ffn"), limit=100)
