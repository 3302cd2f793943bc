"""Train the network that fills in missing pixels: `python -m benchmarks.sweeps.learn_filling OUT [PHOTO ...]`.

The photos are seven of scikit-image's that are free of rights (CC0 or public domain), and those that are named besides
(for the weights in the package: `seeding` of Debian's lomiri-wallpapers-16.04, CC0, reduced 3, 5 and 8 times). Crops of
96x96 of their brightness are seen at a tenth to a half of their pixels, filled in smoothly, and the network learns what
is wrong with that: 2,000 steps of 2,048 windows, each batch turned or mirrored, in about two minutes of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from staf.kinds import open as open_signal
from staf.tasks.filling import filled
from staf.tasks.learned_filling import PREDICTED, WINDOW, FillingNetwork

PHOTOS = ("chelsea", "coffee", "rocket", "brick", "grass", "gravel", "camera")
REDUCED, REDUCED_LARGE = (1, 2), (3, 5, 8)
SIZE, CROPS, TOGETHER, WINDOWS = 96, 16, 16, 1200
SHARES = (0.1, 0.2, 0.2, 0.2, 0.3, 0.5)
STEPS, BATCH, RATE, DECAY = 2000, 2048, 2e-3, 1e-4
# Crops with less spread than this have nothing to learn from.
FLAT = 0.02


def brightness(path: Path) -> Tensor:
    """A photo's brightness, (h, w), from 0 to 1."""
    photo = open_signal(path)
    values = photo.values()[:, :3]
    weights = torch.tensor([0.299, 0.587, 0.114]) if values.shape[1] == 3 else torch.ones(1)
    return (values @ weights).reshape(photo.shape)


def crops(photos: Sequence[Tensor], generator: torch.Generator) -> Tensor:
    """Random parts of photos in random order, (n, 96, 96)."""
    found = []
    for photo in photos:
        for _ in range(CROPS):
            top, left = (int(torch.randint(size - SIZE + 1, (), generator=generator)) for size in photo.shape)
            part = photo[top : top + SIZE, left : left + SIZE]
            if part.std() > FLAT:
                found.append(part)
    together = torch.stack(found)
    return together[torch.randperm(len(together), generator=generator)]


def examples(parts: Tensor, share: float, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """`count` windows of each part (n, h, w), which of them is known, and the pixels in their middle."""
    known = torch.rand(parts.shape[1:], generator=generator) < share
    smooth = filled(parts * known, known, steps=100)
    pick = torch.randperm(known.numel(), generator=generator)[:count]

    def around(of: Tensor, size: int, mode: str) -> Tensor:
        wide = functional.pad(of[:, None], (size // 2,) * 4, mode=mode)
        return functional.unfold(wide, size).transpose(1, 2)[:, pick].reshape(-1, size**2)

    certain = around(known.float()[None], WINDOW, "constant").repeat(len(parts), 1)
    return around(smooth, WINDOW, "replicate"), certain, around(parts, PREDICTED, "replicate")


def turned(windows: Tensor, way: int) -> Tensor:
    """Square windows (n, size^2) in one of eight ways: mirrored, upside down, transposed."""
    size = round(windows.shape[1] ** 0.5)
    square = windows.reshape(-1, size, size)
    square = square.transpose(1, 2) if way & 4 else square
    square = square.flip([axis for axis, bit in ((1, 2), (2, 1)) if way & bit])
    return square.reshape(windows.shape)


def train(data: tuple[Tensor, Tensor, Tensor], steps: int, seed: int = 0) -> FillingNetwork:
    """A network after some steps; a tenth of them warm up."""
    torch.manual_seed(seed)
    network = FillingNetwork()
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        index, way = torch.randint(len(data[0]), (BATCH,)), int(torch.randint(8, ()))
        windows, known, wanted = (turned(part[index], way) for part in data)
        loss = (network(windows, known) - wanted).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 200 == 0:
            print(step, float(loss.detach()), flush=True)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("photos", nargs="*", type=Path, help="large photos besides scikit-image's")
    options = parser.parse_args()
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    own = [next(folder.glob(f"{name}.*")) for name in PHOTOS]
    photos = []
    for path, factors in [*((path, REDUCED) for path in own), *((path, REDUCED_LARGE) for path in options.photos)]:
        photo = brightness(path)
        photos += [functional.avg_pool2d(photo[None], factor)[0] for factor in factors]
    generator = torch.Generator().manual_seed(0)
    parts = crops(photos, generator).split(TOGETHER)
    made = [examples(part, SHARES[k % len(SHARES)], WINDOWS, generator) for k, part in enumerate(parts)]
    windows, known, wanted = (torch.cat(column) for column in zip(*made, strict=True))
    network = train((windows, known, wanted), STEPS)
    about = {
        "made_by": "benchmarks/sweeps/learn_filling.py",
        "photos": ", ".join(path.stem for path in (*own, *options.photos)),
    }
    save_file({name: tensor.half().contiguous() for name, tensor in network.state_dict().items()}, options.out, about)


if __name__ == "__main__":
    main()
