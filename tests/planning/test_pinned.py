"""The plans of a table of cases are what they were: recipe, constants and first weights."""

from __future__ import annotations

import json

import pytest

from tests.planning.pinned import CASES, FILE, described, plans

PINNED = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return {name: described(chosen) for name, chosen in plans()}


@pytest.mark.parametrize("case", CASES)
def test_the_plans_of_a_case_are_as_pinned(found, case):
    names = [name for name in PINNED if name.split(" / ")[0] == case]
    assert names
    assert names == [name for name in found if name.split(" / ")[0] == case]
    for name in names:
        for part in ("recipe", "network"):
            assert found[name][part] == PINNED[name][part], name
        assert found[name]["arguments"] == {
            key: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            for key, value in PINNED[name]["arguments"].items()
        }, name
        assert found[name]["sum"] == pytest.approx(PINNED[name]["sum"], rel=1e-6), name
