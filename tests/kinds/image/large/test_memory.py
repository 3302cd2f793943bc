"""How much memory large images take, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SIXTEEN = """
import sys
from pathlib import Path
import numpy as np, PIL.Image, torch
from staf.kinds.image.large.cache import mapped_image
from staf.kinds.image.large.task import LargeReconstruction
from staf.kinds.image.signal import Image
from staf.nn.ngp import ngp
from staf.training.batches import Batches
from staf.training.optim.optimiser import Optimiser
from staf.training.recipe import Recipe
from staf.training.stepper import Stepper
from tests.peak_memory import peak_mebibytes

folder, side, format = Path(sys.argv[1]), 4096, sys.argv[2]
row = (np.arange(side) // 16 % 256).astype(np.uint8)
picture = np.broadcast_to(row[:, None, None] // 2 + row[None, :, None] // 2, (side, side, 3))
path = folder / f"sixteen.{format.lower()}"
PIL.Image.fromarray(np.ascontiguousarray(picture)).save(path, compression="tiff_deflate")
del picture
mapped = mapped_image(path, format, 10**8)
image = Image(mapped.pixels, profile=mapped.profile)
device = sys.argv[3]
task = LargeReconstruction(image).to(device)
field = ngp(2, 3, levels=2, coarsest=64, finest=128, width=4, depth=1, generator=torch.Generator().manual_seed(0))
if device == "cuda":
    field = ngp(2, 3, log2_entries=22, finest=4096, generator=torch.Generator().manual_seed(0)).cuda()
recipe = Recipe(steps=2, batch=2**14 if device == "cpu" else 2**18)
optimiser = Optimiser(field, recipe)
batches = task.batches(recipe.batch, torch.Generator(device).manual_seed(0))
stepper = Stepper(task, field, optimiser, batches, group=1, chunk=2**18)
losses = [float(stepper.advance([optimiser.rates(1.0)])) for _ in range(2)]
found = task.evaluate(field)
assert image.array.shape == (side, side, 3) and 0 < found["psnr"] < 40 and losses[0] > 0
print(peak_mebibytes(), torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else 0)
"""


def peaks(script, folder, *arguments):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder), "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", script, str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return [float(number) for number in done.stdout.split()]


def test_sixteen_megapixels_stay_under_four_gigabytes(tmp_path):
    host, _ = peaks(SIXTEEN, tmp_path, "TIFF", "cpu")
    assert host < 1500


@pytest.mark.gpu
def test_sixteen_megapixels_stay_under_eight_gigabytes_of_a_gpu(tmp_path):
    host, device = peaks(SIXTEEN, tmp_path, "TIFF", "cuda")
    assert host < 4096
    assert device < 8192
