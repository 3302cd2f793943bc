from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import staf
from staf.kinds.video.frames import gathered
from staf.kinds.video.task import FrameReconstruction
from staf.signals import SignalError
from tests.kinds.video.clips import clip


def moment(x: torch.Tensor) -> torch.Tensor:
    """A field that is the time, 0 at the clip's start and 1 at its end."""
    return ((x[:, :1] + 1) / 2).expand(-1, 3)


def test_values_and_coordinates_walk_through_time_first():
    video = clip(3, 2, 4)
    values, points = video.values(), video.coordinates()
    assert values.shape == (24, 3)
    assert torch.equal(values.reshape(3, 2, 4, 3), torch.from_numpy(video.array) / 255)
    assert points[0].tolist() == pytest.approx([-2 / 3, -0.5, -0.75])
    assert video.from_values(values).array.tolist() == video.array.tolist()
    assert video.with_floats(values - 0.5).array.min() < 0
    assert staf.open(video.array, kind="video", name="x").shape == (3, 2, 4)
    assert staf.open(video.array).kind == "grid"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3), np.uint8), r"must have shape \(t, h, w\)"),
        (np.zeros((0, 3, 3), np.uint8), "must have shape"),
        (np.zeros((2, 3, 3, 4), np.uint8), "1 or 3"),
        (np.zeros((2, 3, 3), np.uint16), "must be uint8, or floats"),
        (np.full((2, 3, 3), 2.0), r"must lie in \[0, 1\], got 2 to 2"),
        (np.full((2, 3, 3), np.nan), r"must lie in \[0, 1\]"),
    ],
)
def test_other_arrays_are_refused(array, message):
    with pytest.raises(SignalError, match=message):
        staf.Video(array)


def test_any_rate_speed_and_moment_are_rendered():
    video = clip(10, 2, 2, rate=10)
    assert video.render(moment).array[:, 0, 0, 0].tolist() == [round(255 * (i + 0.5) / 10) for i in range(10)]
    fast = video.render(moment, rate=40)
    assert (fast.shape, fast.rate, fast.seconds) == ((40, 2, 2), 40, 1.0)
    slow = video.render(moment, rate=20, speed=0.25, start=0.5, stop=0.75)
    assert (slow.shape[0], slow.seconds) == (20, 1.0)
    assert slow.array[[0, -1], 0, 0, 0].tolist() == [round(255 * 0.50625), round(255 * 0.74375)]
    # The first frame lies at time 0, the middle of its cell.
    assert video.render(moment, at=0.3).array[0, 0, 0, 0] == round(255 * 0.35)
    for bad in ({"at": 1.0}, {"start": 0.9, "stop": 0.2}, {"speed": 0.0}, {"rate": -1}, {"crop": (0, 0, 3, 1)}):
        with pytest.raises(SignalError):
            video.render(moment, **bad)


def test_metadata_rebuilds_it_and_refuses_nonsense():
    video = clip()
    empty = staf.kinds.from_metadata(video.metadata())
    assert empty.render(moment, rate=24).shape == (24, 16, 24)
    assert not hasattr(empty, "array")
    for change in ({"rate": 0}, {"channels": 2}, {"dtype": "object"}, {"shape": [1, 2]}, {"shape": [10**9] * 3}):
        with pytest.raises(SignalError, match="metadata"):
            staf.kinds.from_metadata({**video.metadata(), **change})


def test_many_frames_go_to_a_file_and_differ_in_nothing():
    frames = clip().array
    kept = gathered(iter(frames), in_memory=2000)
    assert isinstance(kept, np.memmap)
    assert np.array_equal(kept, frames)
    with pytest.raises(SignalError, match="the same size: the first is 24x16, and frame 1 is 16x24"):
        gathered(iter([frames[0], frames[0].transpose(1, 0, 2)]))
    with pytest.raises(SignalError, match="more than max_pixels=500"):
        gathered(iter(frames), most_pixels=500)


def test_a_batch_has_the_pixels_of_its_index_also_where_frames_take_turns():
    video = clip(8, 4, 6)
    whole = FrameReconstruction(video)
    assert torch.allclose(whole.batch(None).target, video.values())
    assert torch.allclose(whole.batch(None).coordinates, video.coordinates())
    some = FrameReconstruction(video, most_bytes=3 * 4 * 6 * 3)
    (turns,) = some.callbacks()
    assert some.points == 3 * 24
    seen = set()
    for step in range(0, 60, 4):
        turns(type("State", (), {"step": step + 4}))
        batch = some.batch(torch.arange(0, some.points, 24))
        number = ((batch.coordinates[:, 0] + 1) * 4 - 0.5).round().long()
        assert torch.allclose(batch.target, video.values().reshape(8, 24, 3)[number, 0])
        seen |= set(number.tolist())
    assert seen == set(range(8))
    again = FrameReconstruction(video, most_bytes=3 * 4 * 6 * 3)
    (restored,) = again.callbacks()
    restored.load_tensors(turns.tensors())
    assert torch.equal(again.frames.pixels, some.frames.pixels)


def test_a_small_clip_is_fitted_frame_by_frame():
    video = clip(8, 8, 12)
    fit = staf.fit(video, field=staf.staf(3, 3, width=32, depth=2, omega0=5.0), steps=100, seed=0, progress=False)
    assert fit.metrics["psnr"] > 35
    assert fit.metrics["worst_frame_psnr"] <= fit.metrics["psnr"]
    levels = video.psnr_per_frame(fit.reconstruction)
    assert levels.shape == (8,)
    # Rounding to bytes changes little at this quality.
    assert levels.min() == pytest.approx(fit.metrics["worst_frame_psnr"], abs=0.5)
    between = fit.render(rate=24).array[1::2].astype(float)
    assert math.isfinite(between.mean())


def test_a_long_clip_is_planned_with_a_hash_grid_of_three_coordinates():
    long = staf.Video.from_metadata({**clip().metadata(), "shape": [100, 256, 256]})
    plan = staf.plan(long, device="cuda")
    field = plan.field_factory
    assert field.spec.name == "ngp"
    assert field.in_features == 3
    assert field.arguments["proportions"] == (100 / 256, 1.0, 1.0)
    assert "cannot hold 19,660,800 values" in plan.reasons["capacity"]
    assert staf.plan(clip(), device="cpu").field_factory.spec.name == "staf"


@pytest.mark.parametrize("model", ["staf", "siren"])
def test_first_sines_are_slower_along_time_where_frames_are_few(model):
    few = clip(frames=4, height=16, width=32)
    plan = staf.plan(few, model=model)
    assert "along time 0.25 times as fast" in plan.reasons["first_frequency"]
    first = next(p for p in plan.field(0).parameters() if p.dim() == 2 and p.shape[1] == 3).detach().abs()
    assert float(first[:, 0].mean() / first[:, 1:].mean()) == pytest.approx(0.25, abs=0.06)
    many = staf.plan(clip(frames=20, height=16, width=32), model=model)
    assert "along time" not in many.reasons["first_frequency"]
