"""Lens distortion and the way back, by hand, by automatic derivatives and at the border of pictures."""

from __future__ import annotations

import math

import pytest
import torch

from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.lens import border_error, distorted, distorted_with_slopes, undistorted
from staf.signals import SignalError


def camera(angle: float, lens: list[float], *, width: int = 400, height: int = 225) -> Cameras:
    focal = torch.full((1, 2), width / 2 / math.tan(angle / 2))
    centre = torch.tensor([[width / 2, height / 2]])
    return Cameras(torch.eye(3, 4)[None], focal, centre, torch.tensor([lens]), height, width)


def error(camera: Cameras) -> float:
    size = {"height": camera.height, "width": camera.width}
    return float(border_error(camera.focal, camera.centre, camera.distortion, **size))


def test_distortion_is_opencvs():
    x, y, k1, k2, p1, p2 = 0.4, -0.3, 0.2, -0.1, 0.03, 0.05
    square = x * x + y * y
    radial = 1 + k1 * square + k2 * square**2
    expected = [
        x * radial + 2 * p1 * x * y + p2 * (square + 2 * x * x),
        y * radial + p1 * (square + 2 * y * y) + 2 * p2 * x * y,
    ]
    found = distorted(torch.tensor([[x, y]]), torch.tensor([[k1, k2, p1, p2]]))
    torch.testing.assert_close(found, torch.tensor([expected]))


def test_slopes_are_the_derivative():
    generator = torch.Generator().manual_seed(0)
    points, lens = torch.rand(9, 2, generator=generator) - 0.5, (torch.rand(9, 4, generator=generator) - 0.5) / 4
    _, diagonal, other = distorted_with_slopes(points, lens)
    for i in range(9):
        exact = torch.autograd.functional.jacobian(lambda p, i=i: distorted(p[None], lens[i : i + 1])[0], points[i])
        found = torch.stack([diagonal[i], other[i].expand(2)])
        torch.testing.assert_close(found, torch.stack([exact.diagonal(), torch.stack([exact[0, 1], exact[1, 0]])]))


@pytest.mark.parametrize(
    ("angle", "lens"),
    [
        (1.0, [-0.3, 0.0, 0.0, 0.0]),
        (1.2, [-0.2, 0.0, 0.0, 0.0]),
        (1.4, [0.3, 0.0, 0.0, 0.0]),
        (1.6, [2.0, 0.5, 0.0, 0.0]),
        (0.7, [-0.3, 0.05, 0.01, -0.01]),
    ],
)
def test_strong_lenses_are_taken_back_to_a_thousandth_of_a_pixel(angle, lens):
    strong = camera(angle, lens)
    assert error(strong) < 1e-3
    rows, columns = torch.cartesian_prod(torch.linspace(0, 225, 40), torch.linspace(0, 400, 40)).unbind(-1)
    points = (torch.stack([columns, rows], -1) - strong.centre) / strong.focal
    of_each = strong.distortion.expand(len(points), 4)
    assert float((distorted(undistorted(points, of_each), of_each) - points).abs().max() * strong.focal.max()) < 1e-3


@pytest.mark.parametrize(
    ("angle", "lens"),
    [
        (0.7, [-5.0, 0.0, 0.0, 0.0]),
        (1.6, [-0.3, 0.0, 0.0, 0.0]),
        # It falls, and rises again farther out: there a point is found, and it is the wrong one.
        (1.2, [-1.0, 0.2, 0.0, 0.0]),
    ],
)
def test_lenses_that_fold_the_picture_are_refused(angle, lens):
    folded = camera(angle, lens)
    assert error(folded) > 1
    with pytest.raises(SignalError, match=r"^view 0: lens distortion of k1 -.* cannot be inverted .* 400x225 pixels"):
        folded.check_lenses()
    with pytest.raises(SignalError, match=r"^photo 7: lens"):
        folded.check_lenses(["photo 7"])
    with pytest.raises(SignalError, match="cannot be inverted"):
        Cameras.from_plain(folded.to_plain())


def test_one_lens_of_several_is_named():
    good, bad = camera(0.7, [0.1, 0.0, 0.0, 0.0]), camera(0.7, [-5.0, 0.0, 0.0, 0.0])
    parts = {name: torch.cat([getattr(one, name) for one in (good, bad)]) for name in ("poses", "focal", "centre")}
    both = Cameras(**parts, distortion=torch.cat([good.distortion, bad.distortion]), height=225, width=400)
    with pytest.raises(SignalError, match=r"^view 1: "):
        both.check_lenses()
    both.subset([0]).check_lenses()
