"""How much memory large images take, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.kernels import share_kernels

SIXTEEN = """
import sys
from pathlib import Path
import numpy as np, PIL.Image, torch
from staf.kinds.image.large.cache import mapped_image
from staf.kinds.image.large.task import LargeReconstruction
from staf.kinds.image.signal import Image
from staf.nn import ngp
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
GIGAPIXEL = """
import struct, sys, zlib
from pathlib import Path
import torch
from staf.kinds.image.large.cache import mapped_image
from staf.kinds.image.large.task import LargeReconstruction
from staf.kinds.image.large.tiles import TilePool
from staf.kinds.image.signal import Image
from tests.peak_memory import peak_mebibytes

path, side, rows = Path(sys.argv[1]) / "giga.tif", 32768, 512
# Sixteen strips, repeated down the picture.
strips = [zlib.compress(bytes([level]) * (rows * side), 1) for level in range(16)]
# A directory with two tables behind it, then the strips: 8 bits, deflate, black is zero, one sample.
entries, count = 9, side // rows
tables = 8 + 2 + 12 * entries + 4
starts = [tables + 8 * count + sum(map(len, strips[: i % 16])) for i in range(count)]
tags = [(256, side), (257, side), (258, 8), (259, 8), (262, 1), (273, tables), (277, 1), (278, rows)]
tags.append((279, tables + 4 * count))
directory = b"".join(struct.pack("<HHII", tag, 4, count if tag in (273, 279) else 1, value) for tag, value in tags)
file = b"II*\\0" + struct.pack("<IH", 8, entries) + directory + bytes(4)
lengths = [len(strips[i % 16]) for i in range(count)]
file += struct.pack(f"<{2 * count}I", *starts, *lengths) + b"".join(strips)
path.write_bytes(file)
assert len(file) < 2**24
mapped = mapped_image(path, "TIFF", 2**31)
image = Image(mapped.pixels)
assert image.shape == (side, side)
task = LargeReconstruction(image)
batches = task.batches(2**14, torch.Generator().manual_seed(0))
index, weight = torch.zeros(4, 2**14, dtype=torch.long), torch.zeros(4, 2**14)
batches.fill(index, weight)
for number in range(4):
    batch = task.batch(index[number], weight[number])
    row = (batch.coordinates[:, 0].double() + 1) * (side / 2)
    assert torch.equal((batch.target[:, 0] * 255).round().long(), (row / rows).floor().long() % 16)
pool = TilePool(image.array, 2**26, "cpu")
pool.advance(2**24)
r, _, samples = pool.pick(torch.arange(0, pool.points, 997))
assert torch.equal(samples[:, 0].long(), r // rows % 16)
print(peak_mebibytes(), 0)
"""


def peaks(script, folder, *arguments):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder), "OMP_NUM_THREADS": "2"}
    share_kernels(folder / "cache")
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


@pytest.mark.slow
def test_a_gigapixel_stays_under_eight_gigabytes(tmp_path):
    host, _ = peaks(GIGAPIXEL, tmp_path)
    assert host < 8192
