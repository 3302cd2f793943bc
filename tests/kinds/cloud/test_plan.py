from __future__ import annotations

import pytest
import torch

import staf
from staf.planning.plans import for_own_network
from tests.kinds.cloud.test_signal import ball

pytest.importorskip("point_cloud_utils")


def cloud(count: int) -> staf.PointCloud:
    return staf.PointCloud(*ball(count))


@pytest.mark.parametrize(("count", "omega0"), [(10, 5.0), (642, 7.1), (20_000, 39.9), (100_000, 40.0)])
def test_the_first_sines_follow_the_distances_between_points(count, omega0):
    given = cloud(count)
    for source in (given, staf.SignedDistance(given)):
        chosen = staf.plan(source, staf.Budget(steps=10))
        assert chosen.field().architecture["arguments"]["omega0"] == omega0
        assert f"omega0 {omega0:g}, for the distances between {count:,} points" in chosen.reasons["first_frequency"]
    finer = staf.plan(given, model="finer").field()
    assert finer.architecture["arguments"]["omega0"] == pytest.approx(omega0 / 4, abs=0.1)
    staf.plan(given, model="pemlp").field()


def test_a_few_points_are_joined_to_a_smooth_surface():
    """With the sines of photos the surface between 200 points was invented: its normals agreed by a half."""
    given = cloud(200)
    recipe = staf.plan(given, staf.Budget(steps=60)).recipe.replace(batch=256)
    arguments = {"width": 32, "depth": 2, "generator": torch.Generator().manual_seed(0)}
    omega0 = staf.plan(given).field_factory.arguments["omega0"]
    fit = staf.fit(given, field=staf.staf(3, 1, omega0=omega0, **arguments), recipe=recipe, progress=False)
    assert fit.metrics["normal_consistency"] > 0.97


def test_a_network_of_ones_own_sees_as_many_points_in_a_step_as_the_default():
    given = cloud(64)
    own = for_own_network(given, staf.Budget(steps=10), model="siren")
    usual = staf.plan(given, staf.Budget(steps=10), model="siren")
    # A task of points and places has a million of them: no step is to see all.
    assert own.recipe.batch == usual.recipe.batch is not None
    assert own.reasons["batch"] == usual.reasons["batch"]
