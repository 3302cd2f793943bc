from __future__ import annotations

import numpy as np
import torch

import staf
from staf.kinds import Image
from staf.tasks.picture_restoration import PictureRestoration, picture_operator


def test_a_network_that_reads_its_target_reads_the_picture_of_what_is_seen():
    photo = Image(np.arange(48, 112, dtype=np.uint8).reshape(8, 8))
    seen = torch.arange(16).reshape(4, 4) % 3 == 0
    task = PictureRestoration.simulated(photo, picture_operator((8, 8), factor=2, mask=seen))
    assert torch.equal(task.picture[0] > 0, seen)
    assert torch.equal(task.picture[:, seen], task.observation)
    field = staf.incode(2, 1, width=8, depth=2, harmoniser="image")
    field.bind(task)
    assert field(torch.zeros(3, 2)).shape == (3, 1)
