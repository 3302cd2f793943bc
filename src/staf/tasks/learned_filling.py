"""Missing pixels by a small network that was trained on other photos: from what is around a pixel to what it is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Bool, Float
from staf.tasks.filling import filled

# Trained by `python -m benchmarks.sweeps.learn_filling` on eight photos that are free of rights (CC0), kept in float16.
WEIGHTS = Path(__file__).parent / "assets" / "filling.safetensors"
WINDOW, PREDICTED = 11, 3
WIDTHS = (192, 96)
# Added to the standard deviation of a window, in units of the range, so that noise is not taken for a picture.
FLOOR = 0.01
# The second time it starts with its own result: kodim13 at 96x96, a fifth of the pixels, has 21.52 dB, then 21.60.
TURNS = 2
# Windows in memory at once.
AT_ONCE = 2**14


class FillingNetwork(nn.Module):
    """The 3x3 pixels in the middle of a window of 11x11, from the window filled smoothly and which of it is known.

    A window u has its mean taken off and is divided by its spread s, so that the network knows neither brightness nor
    contrast: pixels that are not known become u + s (W u' + g(u', known)), with g a perceptron of two hidden layers.

    >>> FillingNetwork()(torch.zeros(5, 121), torch.ones(5, 121)).shape
    torch.Size([5, 9])
    """

    def __init__(self) -> None:
        super().__init__()
        size = WINDOW**2
        self.hidden = nn.ModuleList([nn.Linear(2 * size, WIDTHS[0]), nn.Linear(WIDTHS[0], WIDTHS[1])])
        self.out = nn.Linear(WIDTHS[1], PREDICTED**2)
        self.skip = nn.Linear(size, PREDICTED**2, bias=False)
        # It begins as the smooth filling.
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.skip.weight)

    def forward(self, window: Float[Tensor, "n k"], known: Float[Tensor, "n k"]) -> Float[Tensor, "n m"]:
        mean, spread = window.mean(1, keepdim=True), window.std(1, keepdim=True) + FLOOR
        seen = (window - mean) / spread
        x = torch.cat([seen, known], 1)
        for layer in self.hidden:
            x = functional.gelu(layer(x))
        change = (self.out(x) + self.skip(seen)) * (1 - middle(known))
        return mean + spread * (middle(seen) + change)


def middle(window: Float[Tensor, "n k"]) -> Float[Tensor, "n m"]:
    """The pixels of windows that are predicted.

    >>> middle(torch.arange(121.0)[None])[0, :3]
    tensor([48., 49., 50.])
    """
    first = (WINDOW - PREDICTED) // 2
    square = window.reshape(-1, WINDOW, WINDOW)[:, first : first + PREDICTED, first : first + PREDICTED]
    return square.reshape(len(window), -1)


def filled_by_network(image: Float[Tensor, "c h w"], known: Bool[Tensor, "h w"]) -> Float[Tensor, "c h w"]:
    """`image` where `known`, and elsewhere what the trained network makes of the biharmonic filling.

    >>> ramp = torch.linspace(0, 1, 24).expand(1, 24, 24)
    >>> known = torch.rand(24, 24, generator=torch.Generator().manual_seed(0)) < 0.3
    >>> off = (filled_by_network(ramp * known, known) - ramp).abs()
    >>> off[:, known].max().item(), bool(off.mean() < 0.02)
    (0.0, True)
    """
    guide, network = filled(image, known), trained()
    for _ in range(TURNS):
        estimate = torch.stack([_predicted(network, plane, known) for plane in guide.float()])
        guide = torch.where(known, image, estimate.to(image.dtype))
    return guide


@cache
def trained() -> FillingNetwork:
    """The network with the weights of the package."""
    from safetensors.torch import load_file

    network = FillingNetwork()
    network.load_state_dict({name: tensor.float() for name, tensor in load_file(WEIGHTS).items()})
    return network.requires_grad_(False)


def _predicted(network: FillingNetwork, plane: Float[Tensor, "h w"], known: Bool[Tensor, "h w"]) -> Tensor:
    """The mean of what all windows predict for each pixel."""
    height, width = plane.shape
    edge, border = WINDOW // 2, PREDICTED // 2
    wide = functional.pad(plane[None, None], (edge,) * 4, mode="replicate")
    given = functional.pad(known[None, None].float(), (edge,) * 4)
    parts = []
    band = max(1, AT_ONCE // width)
    for top in range(0, height, band):
        rows = slice(top, min(top + band, height) + 2 * edge)
        windows, certain = (functional.unfold(of[:, :, rows], WINDOW)[0].T for of in (wide, given))
        parts.append(network(windows, certain))
    columns = torch.cat(parts).T[None]
    size = (height + 2 * border, width + 2 * border)
    total, count = (functional.fold(of, size, PREDICTED) for of in (columns, torch.ones_like(columns)))
    return (total / count)[0, 0, border:-border, border:-border]
