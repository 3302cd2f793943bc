from __future__ import annotations

import numpy as np
import torch

import staf
from staf.kinds import Image
from staf.nn import NETWORKS
from staf.operators import Mask
from staf.tasks.inverse_classical import linear
from staf.tasks.picture_restoration import PictureRestoration, picture_operator, random_mask

BLUR = picture_operator((64, 64), blur=1.0)


def test_a_network_that_reads_its_target_reads_the_picture_of_what_is_seen():
    photo = Image(np.arange(48, 112, dtype=np.uint8).reshape(8, 8))
    seen = torch.arange(16).reshape(4, 4) % 3 == 0
    task = PictureRestoration.simulated(photo, picture_operator((8, 8), factor=2, mask=seen))
    assert torch.equal(task.picture[0] > 0, seen)
    assert torch.equal(task.picture[:, seen], task.observation)
    field = staf.incode(2, 1, width=8, depth=2, harmoniser="image")
    field.bind(task)
    assert field(torch.zeros(3, 2)).shape == (3, 1)


def test_missing_pixels_have_constants_of_their_own_and_a_blur_those_of_enlarging():
    photo = Image(np.full((64, 64, 3), 99, np.uint8))
    seen = random_mask((64, 64), 0.25, torch.Generator().manual_seed(0))
    for operator, task in ((picture_operator((64, 64), mask=seen), "inpainting"), (BLUR, "super_resolution")):
        own = NETWORKS["finer"].settings(task)
        plan = staf.plan(PictureRestoration.simulated(photo, operator), model="finer", device="cuda")
        assert plan.recipe.rate == own.rate
        built = plan.field(0).architecture["arguments"]
        assert built["hidden_omega0"] == own.constants["hidden_omega0"]
    assert NETWORKS["finer"].settings("inpainting") != NETWORKS["finer"].settings("super_resolution")


def test_linear_filling_follows_a_line_and_takes_the_nearest_where_there_is_no_triangle():
    seen = torch.ones(2, dtype=torch.bool)
    ends = torch.tensor([[0.0, 4.0]])
    for shape in ((1, 5), (5, 1)):
        mask = torch.zeros(5, dtype=torch.bool)
        mask[[0, 4]] = True
        found = linear(Mask(mask.reshape(shape)), ends, seen, 0.0)
        assert torch.equal(found.flatten(), torch.arange(5.0))
    slanted = Mask(torch.eye(2, dtype=torch.bool))
    assert set(linear(slanted, ends, seen, 0.0).flatten().tolist()) == {0.0, 4.0}
