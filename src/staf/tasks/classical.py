"""Methods without a network, for comparison: two upscalers, total variation, non-local means, patch groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from staf._extras import need
from staf._typing import Float
from staf.tasks.choice import Candidate
from staf.tasks.denoising import Denoising
from staf.tasks.inverse import InverseProblem
from staf.tasks.left_out import left_out
from staf.tasks.non_local import non_local_means
from staf.tasks.patch_methods import denoised_by_patches, noise_of, patches_serve
from staf.tasks.super_resolution import SuperResolution

Denoiser = Callable[[Tensor, float], Tensor]
# Strengths tried, in units of the value range, for noise from faint to as strong as the picture.
TV_WEIGHTS = tuple(0.02 * 2 ** (k / 2) for k in range(13))
NEIGHBOURS = torch.tensor([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)])
UNSEEN_TURNS = 6
NLM_WIDTHS = tuple(0.04 * 1.3**k for k in range(11))


def bicubic(image: Float[Tensor, "c h w"], factor: int) -> Float[Tensor, "c H W"]:
    """Cubic convolution (Keys, a = -1/2), aligned at cell centres.

    >>> (1000 * bicubic(torch.tensor([[[0.0, 1.0]]]), 2)[0, 0]).round().int().tolist()
    [-88, 207, 793, 1088]
    """

    def kernel(t: Tensor) -> Tensor:
        t = t.abs()
        near = 1.5 * t**3 - 2.5 * t**2 + 1
        far = -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
        return torch.where(t <= 1, near, torch.where(t < 2, far, torch.zeros_like(t)))

    return _resampled(image, factor, kernel, 2)


def lanczos(image: Float[Tensor, "c h w"], factor: int) -> Float[Tensor, "c H W"]:
    """sinc(t) sinc(t/3) for |t| < 3, aligned at cell centres, weights normalised."""

    def kernel(t: Tensor) -> Tensor:
        return torch.sinc(t) * torch.sinc(t / 3) * (t.abs() < 3)

    return _resampled(image, factor, kernel, 3)


UPSCALERS: dict[str, Callable[[Tensor, int], Tensor]] = {"bicubic": bicubic, "Lanczos": lanczos}


def upscaled(task: SuperResolution) -> dict[str, Float[Tensor, "n c"]]:
    """The observation of a task enlarged by each classical upscaler: clamped, (n, c) as from `task.predict`."""
    observed = task.observation.cpu()
    return {name: task.transform.clamp(up(observed, task.factor)).flatten(1).T for name, up in UPSCALERS.items()}


def total_variation(image: Float[Tensor, "c h w"], weight: float) -> Float[Tensor, "c h w"]:
    """Chambolle's minimiser of |u - y|^2 / 2 + weight TV(u)."""
    denoise_tv_chambolle = need("image", "skimage.restoration").denoise_tv_chambolle

    return torch.from_numpy(denoise_tv_chambolle(image.numpy(), weight=weight, channel_axis=0)).float()


DENOISERS: dict[str, tuple[Denoiser, Sequence[float]]] = {
    "total variation": (total_variation, TV_WEIGHTS),
    "non-local means": (non_local_means, NLM_WIDTHS),
}


PATCH_GROUPS = "patch groups"
DENOISING_METHODS = (*DENOISERS, PATCH_GROUPS)


def denoised(task: Denoising, methods: Sequence[str] = DENOISING_METHODS) -> dict[str, Float[Tensor, "n c"]]:
    """The observation of a task denoised by each classical method, its strength chosen by the held-out pixels."""
    return {name: candidate.values for name, candidate in denoising_candidates(task, methods).items()}


def denoising_candidates(task: Denoising, methods: Sequence[str] = DENOISING_METHODS) -> dict[str, Candidate]:
    """The same, with each method's errors at held-out pixels that it did not see.

    Patch groups are left out where they do not serve; they begin with total variation.
    """
    image, parts = task.observation.cpu(), left_out(task)
    everything = torch.ones(image.shape[1:], dtype=torch.bool)
    wanted = image.flatten(1)[:, torch.cat(parts)].T
    results = {}
    plain: dict[str, tuple[Tensor, list[Tensor]]] = {}
    for name in methods:
        grouped = name == PATCH_GROUPS
        if grouped and not patches_serve(tuple(image.shape[1:])):
            continue
        start = "total variation" if grouped else name
        if start not in plain:
            denoise, strengths = DENOISERS[start]
            strength = chosen_strength(task, denoise, strengths)
            without = [task.transform.clamp(_unseen(image, part, denoise, strength)) for part in parts]
            plain[start] = task.transform.clamp(denoise(image, strength)), without
        restored, unseen = plain[start]
        if grouped:
            held, unseen = parts[0], list(unseen)
            noise = noise_of(unseen[0].flatten(1)[:, held].T, image.flatten(1)[:, held].T)
            restored = task.transform.clamp(denoised_by_patches(image, everything, restored, noise))
            for number, part in enumerate(parts):
                seen = everything.clone()
                seen.view(-1)[part] = False
                unseen[number] = task.transform.clamp(denoised_by_patches(image, seen, unseen[number], noise))
        predicted = torch.cat([found.flatten(1)[:, part].T for found, part in zip(unseen, parts, strict=True)])
        results[name] = Candidate(restored.flatten(1).T, (predicted - wanted).square().mean(-1), predicted)
    return results


def _unseen(image: Tensor, held: Tensor, denoise: Denoiser, strength: float) -> Tensor:
    """What a method makes of a picture without the values of held-out pixels.

    Held-out pixels are replaced by the method's result until they no longer change, so their values have no effect.
    """
    without = _filled(image, held)
    restored = without
    for _ in range(UNSEEN_TURNS):
        restored = denoise(without, strength)
        without.flatten(1)[:, held] = restored.flatten(1)[:, held]
    return restored


def oracle_denoised(task: Denoising, methods: Sequence[str] = tuple(DENOISERS)) -> dict[str, Float[Tensor, "n c"]]:
    """The same with the strength that is best in hindsight (oracle): what the papers' protocol would report."""
    assert task.truth is not None
    truth = task.transform.fitted(task.truth.values())
    results = {}
    for name in methods:
        denoise, strengths = DENOISERS[name]
        tries = [task.transform.clamp(denoise(task.observation.cpu(), s)).flatten(1).T for s in strengths]
        results[name] = min(tries, key=lambda restored: float((restored - truth).square().mean()))
    return results


def measured(task: InverseProblem | Denoising, restored: Float[Tensor, "n c"]) -> dict[str, float]:
    """PSNR and SSIM of a restored image against the task's truth, as `task.evaluate` measures a field."""
    assert task.truth is not None
    return task.truth.measures(restored.float(), task.transform.fitted(task.truth.values()))


def chosen_strength(task: Denoising, denoise: Denoiser, strengths: Sequence[float]) -> float:
    """The strength with the least error at held-out pixels, which first take the value of a neighbour."""
    image, held = task.observation.cpu(), task.held_out_index.cpu()
    if not len(held):
        raise ValueError("held_out must be positive to choose a strength by it, got 0")
    filled = _filled(image, held)
    wanted = image.flatten(1)[:, held]
    errors = []
    for strength in strengths:
        seen = task.transform.clamp(denoise(filled, strength)).flatten(1)[:, held]
        errors.append(float((seen - wanted).square().mean()))
    return strengths[errors.index(min(errors))]


def _filled(image: Tensor, index: Tensor) -> Tensor:
    """The image with each pixel of a flat index replaced by a neighbour that is not in it.

    One neighbour and not their mean: a mean would be less noisy than the rest, and ask for no denoising.
    """
    height, width = image.shape[1:]
    known = torch.ones(height * width, dtype=torch.bool)
    known[index] = False
    source, waiting = index.clone(), torch.ones(len(index), dtype=torch.bool)
    for turn in range(8):
        step = NEIGHBOURS[(index + turn) % 8]
        row, column = index // width + step[:, 0], index % width + step[:, 1]
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        at = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
        use = waiting & inside & known[at]
        source[use] = at[use]
        waiting &= ~use
    filled = image.flatten(1).clone()
    filled[:, index] = filled[:, source]
    return filled.reshape(image.shape)


def _resampled(image: Tensor, factor: int, kernel: Callable[[Tensor], Tensor], support: int) -> Tensor:
    """Separable interpolation to a grid `factor` times finer; at the borders the weights within are normalised."""
    for dim in (1, 2):
        size = image.shape[dim]
        at = (torch.arange(size * factor, dtype=torch.float64) + 0.5) / factor - 0.5
        first = torch.floor(at).long() - support + 1
        index = first[:, None] + torch.arange(2 * support)
        weights = kernel(at[:, None] - index) * ((index >= 0) & (index < size))
        weights = (weights / weights.sum(1, keepdim=True)).to(image)
        gathered = image.movedim(dim, -1)[..., index.clamp(0, size - 1).to(image.device)]
        image = (gathered * weights).sum(-1).movedim(-1, dim)
    return image
