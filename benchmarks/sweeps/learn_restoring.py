"""Train the networks that fill in missing pixels and enlarge: `python -m benchmarks.sweeps.learn_restoring filling OUT
PHOTO ... --seconds 60 --device cuda`.

For the weights in the package the photos were free of rights (CC0 or public domain): 18 of Budgie's backgrounds reduced
three times, seven of scikit-image (chelsea, coffee, rocket, brick, grass, gravel, camera), SciPy's face, and `seeding`
of Debian's lomiri-wallpapers-16.04 reduced three times. Each is used as it is and reduced twice, in crops of 96x96 that
are not flat. Crops are seen at a tenth to all of their pixels, some with holes, filled in smoothly; or as area means of
2x2 to 4x4. The loss is the mean over crops of the root of the mean squared error, so that difficult photos do not
outweigh others.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from staf.kinds import open as open_signal
from staf.tasks.filling import filled
from staf.tasks.learned_enlarging import FACTORS, EnlargingNetwork
from staf.tasks.learned_filling import FillingNetwork
from staf.tasks.picture_network import turned

SIZE = 96
REDUCED = (1, 2)
# Photos with more pixels are reduced three times first.
LARGE = 2**22
# Of known pixels, and how many rectangles of 4 to 24 pixels a side are missing besides: one mask after another.
MASKS = (
    *((share, 0) for share in (0.1, 0.15, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.3, 0.4, 0.5)),
    *((share, 6) for share in (0.3, 0.7, 1.0)),
)
HOLES = (4, 24)
# Crops of one mask, and smoothing steps of their filling.
TOGETHER, SMOOTHING = 1000, 120
OFTEN = {2: 0.15, 3: 0.15, 4: 0.7}
GREY = 0.1
RATE, WARM, LEAST = 2e-3, 0.03, 1e-6
# Crops with less spread than this have nothing to learn from.
FLAT = 0.02

# A network and a batch (in eight ways, grey or not): the network's estimates, and what they should be.
Estimates = Callable[[nn.Module, torch.Generator], tuple[Tensor, Tensor]]


def read(path: Path) -> Tensor:
    """A photo's colours, (3, h, w), from 0 to 1."""
    photo = open_signal(path)
    values = photo.values()[:, :3].expand(-1, 3).T.reshape(3, *photo.shape)
    return functional.avg_pool2d(values, 3) if photo.points > LARGE else values


def crops(photos: Sequence[Tensor], count: int, generator: torch.Generator) -> Tensor:
    """About `count` random parts of photos, more of larger ones, in random order: (n, 3, 96, 96)."""
    found = []
    total = sum(photo[0].numel() for photo in photos)
    for photo in photos:
        for _ in range(math.ceil(count * photo[0].numel() / total)):
            top, left = (int(torch.randint(size - SIZE + 1, (), generator=generator)) for size in photo.shape[1:])
            part = photo[:, top : top + SIZE, left : left + SIZE]
            if part.std() > FLAT:
                found.append(part)
    together = torch.stack(found)
    return together[torch.randperm(len(together), generator=generator)]


def mixed(parts: Tensor, generator: torch.Generator) -> tuple[Tensor, int]:
    """Some of the crops made grey, and a way to turn a batch."""
    grey = torch.rand(len(parts), 1, 1, 1, generator=generator).to(parts.device) < GREY
    return torch.where(grey, parts.mean(1, keepdim=True), parts), int(torch.randint(8, (), generator=generator))


def mask(share: float, holes: int, generator: torch.Generator) -> Tensor:
    """Which pixels are known, (96, 96): a random share, less some rectangles."""
    known = torch.rand(SIZE, SIZE, generator=generator) < share
    for _ in range(holes):
        tall, wide = torch.randint(*HOLES, (2,), generator=generator).tolist()
        top, left = (int(torch.randint(SIZE - side, (), generator=generator)) for side in (tall, wide))
        known[top : top + tall, left : left + wide] = False
    return known


def filling(parts: Tensor, batch: int, generator: torch.Generator) -> Estimates:
    """Each crop is seen through one mask, filled in smoothly beforehand; some crops are grey."""
    parts = mixed(parts, generator)[0]
    smooth, masks = [], []
    for number, some in enumerate(parts.split(TOGETHER)):
        known = mask(*MASKS[number % len(MASKS)], generator).to(parts.device)
        planes = some.flatten(0, 1)
        smooth.append(filled(planes * known, known, steps=SMOOTHING).reshape(some.shape))
        masks.append(known.float().expand(len(some), 1, -1, -1))
    start, known = torch.cat(smooth), torch.cat(masks)

    def estimates(network: nn.Module, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        index, way = (
            torch.randint(len(parts), (batch,), generator=generator),
            int(torch.randint(8, (), generator=generator)),
        )
        index = index.to(parts.device)
        given, certain, wanted = (turned(of[index], way).contiguous() for of in (start, known, parts))
        return network(given, certain), wanted

    return estimates


def enlarging(parts: Tensor, batch: int, generator: torch.Generator) -> Estimates:
    """Each batch is seen as area means by one factor."""
    chances = torch.tensor([OFTEN[factor] for factor in FACTORS])

    def estimates(network: nn.Module, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        index = torch.randint(len(parts), (batch,), generator=generator).to(parts.device)
        wanted, way = mixed(parts[index], generator)
        wanted = turned(wanted, way).contiguous()
        factor = FACTORS[int(torch.multinomial(chances, 1, generator=generator))]
        return network(functional.avg_pool2d(wanted, factor), factor), wanted

    return estimates


NETWORKS: dict[str, tuple[type[nn.Module], Callable[[Tensor, int, torch.Generator], Estimates]]] = {
    "filling": (FillingNetwork, filling),
    "enlarging": (EnlargingNetwork, enlarging),
}


def train(
    network: nn.Module,
    estimates: Estimates,
    seconds: float,
    generator: torch.Generator,
    device: str,
    save: Callable[[int], None],
) -> None:
    """Steps of AdamW for so many seconds, the rate a cosine of the time; `save` is called now and then, and last."""
    network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    began, step = time.perf_counter(), 0
    while (done := (time.perf_counter() - began) / seconds) < 1:
        rate = RATE * min(1.0, done / WARM) * (LEAST + (1 - LEAST) * 0.5 * (1 + math.cos(math.pi * done)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=device != "cpu"):
            found, wanted = estimates(network, generator)
        loss = ((found.float() - wanted).square().flatten(1).mean(1) + 1e-5).sqrt().mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if step % 500 == 0:
            print(f"step {step}, {done:.0%}, loss {float(loss.detach()):.5f}", flush=True)
            save(step)
        step += 1
    save(step)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("out", type=Path)
    parser.add_argument("photos", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--crops", type=int, default=16_800)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(words)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    whole = [read(path) for path in options.photos]
    photos = [functional.avg_pool2d(photo, factor) for photo in whole for factor in REDUCED]
    parts = crops([photo for photo in photos if min(photo.shape[1:]) >= SIZE], options.crops, generator)
    make, prepare = NETWORKS[options.network]
    network = make()
    estimates = prepare(parts.to(options.device), options.batch, generator)
    print(f"{len(parts)} crops of {len(whole)} photos", flush=True)

    def save(steps: int) -> None:
        about = {
            "made_by": "benchmarks/sweeps/learn_restoring.py",
            "photos": ", ".join(sorted(path.stem for path in options.photos)),
            "steps": str(steps),
            "batch": str(options.batch),
        }
        weights = {name: tensor.cpu().half().contiguous() for name, tensor in network.state_dict().items()}
        save_file(weights, options.out, about)

    train(network, estimates, options.seconds, generator, options.device, save)


if __name__ == "__main__":
    main()
