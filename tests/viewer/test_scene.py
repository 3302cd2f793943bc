"""The page of a scene shows what the library renders, and can be turned while it is refined."""

from __future__ import annotations

import numpy as np
import torch

import staf
from staf.api import FittedField
from tests.kinds.scene import small
from tests.viewer.conftest import Page


def scene_field() -> FittedField:
    """Coloured fog, thicker here and there."""
    module = staf.radiance(6, 4, width=8, depth=1, features=8, omega0=8.0, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        module.position.output.weight.mul_(8.0)
        module.colour.output.weight.mul_(4.0)
    return FittedField(module.eval(), {"signal": small.scene(train=3, test=2).metadata()})


def test_a_camera_sees_what_render_shows_and_can_be_moved(page: Page):
    field = scene_field()
    page.open(field, width=48, height=60)
    page.resize_canvas(16, 16)
    shown = page.pixels().astype(int)
    expected = field.render(views=[0]).train.pixels[0, ..., :3].numpy()
    assert expected.std() > 10
    # Cells that hold next to nothing are left out here and there, and not the same ones.
    assert np.abs(shown - expected).max() <= 4
    assert np.abs(shown - expected).mean() < 0.5
    page.browser.evaluate("staf.view.choose(1)")
    other = page.pixels().astype(int)
    assert np.abs(other - field.render(views=[1]).train.pixels[0, ..., :3].numpy()).max() <= 4

    before = page.browser.evaluate("staf.view.pose.position")
    page.browser.drag([(4, 8), (9, 7)])
    turned = page.browser.evaluate("staf.view.pose.position")
    assert np.linalg.norm(turned) - np.linalg.norm(before) < 1e-6
    assert np.abs(np.array(turned) - before).max() > 0.1
    assert not np.array_equal(page.pixels(), other)
    page.browser.evaluate("staf.view.handlers.key('+')")
    assert np.linalg.norm(page.browser.evaluate("staf.view.pose.position")) < np.linalg.norm(before)
    page.browser.evaluate("staf.view.handlers.key('0')")
    assert np.array_equal(page.pixels(), other)
    assert page.browser.complaints == []
