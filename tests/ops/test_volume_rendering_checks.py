"""What volume rendering refuses: each message names the argument, the rule and the value.

The annotations that tests enforce refuse most of it before, so the checks are called by themselves.
"""

from __future__ import annotations

import pytest
import torch

from staf.ops.volume_rendering import Samples, composite, march, ray_box, visible
from staf.ops.volume_rendering.checks import check_cells, check_composite, check_places, check_rays, check_samples
from tests.ops.test_volume_rendering import rays, scene


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": torch.zeros(3)}, r"width must have one entry for each of 160 samples, got shape \(3,\)"),
        ({"density": torch.zeros(160, 1)}, r"density must have one entry .*, got shape \(160, 1\)"),
        ({"colour": torch.zeros(160)}, r"colour must have shape \(160, channels\), got \(160,\)"),
        ({"count": torch.zeros(2, dtype=torch.long)}, r"start and count must have the same shape .* and \(2,\)"),
        ({"background": torch.zeros(2)}, r"background must have shape \(3,\), got \(2,\)"),
        ({"width": torch.zeros(160, device="meta")}, "density and width must be on the same device, got cpu and meta"),
        ({"stop": 1.0}, "stop must be at least 0 and below 1, got 1.0"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    names = ("density", "colour", "distance", "width", "start", "count", "background", "stop")
    with pytest.raises(ValueError, match=message):
        check_composite(**(dict(zip(names, (*scene(), 0.0), strict=True)) | change))


def test_places_of_samples_are_whole_numbers():
    count = torch.ones(2, dtype=torch.long)
    with pytest.raises(TypeError, match=r"start must be a tensor of whole numbers, got torch.float32"):
        check_places(count.float(), count)


def test_march_refuses_a_step_or_budget_of_nothing():
    origin, direction, _ = rays(1)
    occupied = torch.ones(2, 2, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="step must be positive, got 0"):
        march(origin, direction, *ray_box(origin, direction), occupied, step=0, budget=5)
    with pytest.raises(ValueError, match="budget must be at least 1 sample, got 0"):
        march(origin, direction, *ray_box(origin, direction), occupied, step=1.0, budget=0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"origin": torch.zeros(5, 2)}, ValueError, r"origin must have shape \(5, 3\), got \(5, 2\)"),
        ({"direction": torch.zeros(4, 3)}, ValueError, r"direction must have shape \(5, 3\), got \(4, 3\)"),
        ({"far": torch.zeros(1)}, ValueError, r"far must have shape \(5,\), got \(1,\)"),
        ({"offset": torch.zeros(2)}, ValueError, r"offset must have shape \(5,\), got \(2,\)"),
        ({"near": torch.zeros(5, dtype=torch.long)}, TypeError, "near must be float32 or float64, got torch.int64"),
        ({"occupied": torch.ones(2, 2, 2)}, TypeError, "occupied must be a tensor of torch.bool, got torch.float32"),
        ({"occupied": torch.ones(2, 2).bool()}, ValueError, r"occupied must have shape \(x, y, z\) .*, got \(2, 2\)"),
    ],
)
def test_march_names_what_is_wrong(change, error, message):
    origin, direction, offset = rays(5)
    near, far = ray_box(origin, direction)
    given = {"origin": origin, "direction": direction, "near": near, "far": far, "offset": offset}
    changed = given | change
    occupied = changed.pop("occupied", None)
    with pytest.raises(error, match=message):
        check_rays(**changed) if occupied is None else check_cells(occupied, origin)


def test_the_operations_make_these_checks():
    elsewhere = torch.zeros(5, 3, device="meta")
    origin, direction, _ = rays(5)
    with pytest.raises(ValueError, match="origin and direction must be on the same device, got cpu and meta"):
        ray_box(origin, elsewhere)
    near, far = ray_box(origin, direction)
    with pytest.raises(ValueError, match=r"occupied must have shape \(x, y, z\) with a cell or more, got \(0, 2, 2\)"):
        march(origin, direction, near, far, torch.ones(0, 2, 2, dtype=torch.bool), step=0.1, budget=9)
    density, colour, distance, width, start, count, background = scene()
    with pytest.raises(ValueError, match="density and background must be on the same device, got cpu and meta"):
        composite(density, colour, distance, width, start, count, background.to("meta"))
    ray = torch.zeros(len(distance), dtype=torch.long)
    with pytest.raises(ValueError, match="distance and width must be on the same device, got cpu and meta"):
        visible(Samples(distance, ray, start, count), density, width.to("meta"), stop=0.1, budget=9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop": 0.0}, "stop must be above 0 and below 1, got 0.0"),
        ({"budget": 0}, "budget must be at least 1 sample, got 0"),
    ],
)
def test_visible_names_what_is_wrong(change, message):
    density, _, distance, width, start, count, _ = scene()
    samples = Samples(distance, torch.zeros(len(distance), dtype=torch.long), start, count)
    given = {"samples": samples, "density": density, "width": width, "stop": 0.1, "budget": 10} | change
    with pytest.raises(ValueError, match=message):
        visible(**given)


def test_samples_have_one_entry_each():
    with pytest.raises(ValueError, match=r"density must have one entry for each of 160 samples, got shape \(3,\)"):
        check_samples(distance=torch.zeros(160), density=torch.zeros(3))
