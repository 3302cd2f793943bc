"""Every analysis by name, as the command line shows it: for a network and a signal that were passed, or for fresh ones.

An entry computes; `staf.figures.analysis.draw(name, result.data)` draws. Without a signal, images are a small
photograph of scikit-image's, and audio is a synthetic chord. Nothing here loads matplotlib.

>>> sorted(RESULTS)
['activation-maps', 'dynamics', 'freeze', 'lazy', 'ntk', 'ntk-audio', 'ntk-crop', 'ntk-roles']
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from staf._documents import Document
from staf.analysis.comparison import compare_kernels, paper_networks, role_shares
from staf.analysis.convergence import lazy_convergence
from staf.analysis.dynamics import ParameterDynamics
from staf.analysis.features import activation_maps
from staf.analysis.freezing import freeze_after_warm_up
from staf.analysis.points import Points, chord, few_points
from staf.kinds import Audio, Image, sample_photo
from staf.nn import siren, staf
from staf.planning import recipes
from staf.signals.base import Signal
from staf.tasks import Reconstruction
from staf.theory.registry import Result

Device = torch.device | str | None
Make = Callable[[torch.Generator], nn.Module]
# Points that a signal is reduced to before a network is trained on it.
SMALL_FIT = 64 * 64


class Run(Protocol):
    """(network or None, seed, signal or None, device) to a result; theory's entries take the first two."""

    def __call__(
        self, field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None
    ) -> Result: ...


class Entry(NamedTuple):
    """What a name means, and the function that computes it."""

    description: str
    run: Run


def _photo() -> Image:
    return sample_photo("camera")


def _points(field: nn.Module | None, signal: Signal | None, most: int, crop: bool | None = None) -> Points:
    """Points of the signal, or of a stand-in with as many coordinates as the field has."""
    if signal is not None:
        return few_points(signal, most, crop=crop)
    inputs = 2 if field is None else int(getattr(field, "in_features", 2))
    if inputs == 1:
        return chord(most=min(most, 512))
    if inputs == 2:
        return few_points(_photo(), most, crop=crop)
    raise ValueError(f"a field of {inputs} coordinates needs a signal to be looked at on; give one")


def _ntk(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    return _comparison(field, seed, _points(field, signal, 40 * 40), device)


def _ntk_crop(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    return _comparison(field, seed, _points(field, signal, 40 * 40, crop=True), device)


def _ntk_audio(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    if signal is not None and signal.in_features != 1:
        raise ValueError(f"ntk-audio looks at recordings, and the signal is {signal.kind}: ntk takes it")
    return _comparison(field, seed, chord() if signal is None else few_points(signal, 512), device)


def _comparison(field: nn.Module | None, seed: int, points: Points, device: Device) -> Result:
    x, shape, target = points
    fields = paper_networks(x.shape[1], target.shape[1], seed=seed)
    if field is not None:
        fields = {"this network": field, **fields}
    fields = {name: each.to(device) for name, each in fields.items()}
    found = compare_kernels(fields, x, shape, target)
    rows = []
    for row in found.rows():
        values = f"largest eigenvalue {row['largest']:.3g}, trace {row['trace']:.3g}, "
        values += f"effective rank {row['effective rank']:.0f} of {len(x)}; "
        share = row["target in the first tenth"]
        rows.append((row["network"], values + f"the first tenth holds {share:.1%} of the signal"))
    size = "x".join(str(n) for n in shape)
    return Result(f"Empirical NTK on {size} points, channels summed", rows, found.to_plain())


def _ntk_roles(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    x, _, target = _points(field, signal, 256)
    laws: dict[str, Document] = {
        "STAF, ours": {},
        "STAF, the paper's law": {"omega0": 30.0, "law": "theorem", "weights": "torch"},
    }
    widths = (32, 64, 128, 256, 512)
    fields: dict[str, list[nn.Module]] = {
        law: [
            staf(x.shape[1], target.shape[1], width=n, generator=torch.Generator().manual_seed(seed), **options)
            for n in widths
        ]
        for law, options in laws.items()
    }
    names = [f"width {n}" for n in widths]
    if field is not None:
        fields, names = {"this network": [field]}, [""]
    shares = {law: [role_shares(each.to(device), x) for each in group] for law, group in fields.items()}
    roles = ("weights", "amplitude", "frequency", "phase")
    rows = [
        (
            f"{law}, {name}".removesuffix(", "),
            ", ".join(f"{role} {share[role]:.2e}" for role in roles)
            + f"; sinusoids are {share['activation parameters']:.2e} of the parameters",
        )
        for law, group in shares.items()
        for name, share in zip(names, group, strict=True)
    ]
    data = {
        "laws": list(shares),
        "names": names,
        "roles": list(roles),
        "shares": np.array([[[share[role] for role in roles] for share in group] for group in shares.values()]),
        "count": np.array([[share["activation parameters"] for share in group] for group in shares.values()]),
    }
    return Result("Share of the NTK's trace by kind of parameter", rows, data)


def _lazy(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    x, _, target = _points(field, signal, 144)
    generator = torch.Generator().manual_seed(seed)
    chosen = field if field is not None else siren(x.shape[1], target.shape[1], depth=2, omega0=10, generator=generator)
    chosen = copy.deepcopy(chosen).to(device, torch.float64)
    with torch.no_grad():
        start = chosen(x.to(next(chosen.parameters()).device, torch.float64)).cpu()
    centred = (target - target.mean(0)).double()
    data: Document = {"sizes": [], "runs": []}
    rows = []
    for size in (1.0, 0.1, 0.01):
        found = lazy_convergence(chosen, x, start + size * centred, steps=200, modes=(0, 4, 12, 24, 40))
        error = float(np.abs(found.observed / found.predicted - 1).max())
        rows.append(
            (
                f"residual x {size:g}",
                f"kernel moved by {found.kernel_change:.2%}, losses differ from the prediction by at most {error:.2%}",
            )
        )
        data["sizes"].append(size)
        data["runs"].append({k: v for k, v in found.to_plain().items() if k != "eigenvalues"})
    return Result("Gradient descent against what the kernel at the start predicts", rows, data)


def _small_fit(field: nn.Module | None, seed: int, signal: Signal | None) -> tuple[Reconstruction, Make]:
    """A task of at most 64x64 points, or as many samples, and a factory of the field or of a small STAF.

    Without a signal it is one that the field can fit: the photograph in as many channels, or the chord.
    """
    inputs, outputs = (int(getattr(field, name, n)) for name, n in (("in_features", 2), ("out_features", 1)))
    if signal is None and inputs == 1:
        signal = Audio(2 * chord(most=4096).target.expand(-1, outputs).numpy() - 1, rate=8000)
    source: Signal
    if signal is None:
        _, shape, target = few_points(_photo(), SMALL_FIT)
        source = Image(target.expand(-1, outputs).reshape(*shape, outputs).numpy())
    else:
        low, high = signal.value_range
        _, shape, target = few_points(signal, SMALL_FIT)
        source = signal.with_floats(target * (high - low) + low, shape)

    def make(generator: torch.Generator) -> nn.Module:
        if field is not None:
            return copy.deepcopy(field)
        first: Document = {"omega0": 3000.0} if source.in_features == 1 else {}
        return staf(source.in_features, source.out_features, width=128, generator=generator, **first)

    return Reconstruction(source), make


def _dynamics(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    from staf.api import fit

    task, make = _small_fit(field, seed, signal)
    network = make(torch.Generator().manual_seed(seed))
    recorder = ParameterDynamics(network)
    steps = 300
    done = fit(
        task, network, recipes.default(steps=steps), seed=seed, device=device, progress=False, callbacks=[recorder]
    )
    found = recorder.result
    shares = found.early_share(steps // 3)
    rows = [("PSNR of the final weights", f"{done.metrics['psnr']:.2f} dB after {steps} steps")]
    for part, drift in found.arrays("drift").items():
        last = ", ".join(f"{value:.3g}" for value in drift[-1])
        rows.append((part, f"{shares[part]:.0%} of its path in the first third; drift per layer {last}"))
    return Result("How amplitudes, frequencies and phases move during a fit", rows, found.to_plain())


def _freeze(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    task, make = _small_fit(field, seed, signal)
    found = freeze_after_warm_up(task, make, recipes.default(steps=300), freeze_from=120, seed=seed, device=device)
    rows = [(name, f"{found[name]['metrics']['psnr']:.2f} dB (final weights)") for name in ("full", "frozen")]
    rows.append(("lost by freezing", f"{found['psnr_lost']:.2f} dB"))
    return Result(f"Sinusoids frozen from step {found['freeze_from']} of {found['steps']}", rows, found)


def _activation_maps(field: nn.Module | None, seed: int, signal: Signal | None = None, device: Device = None) -> Result:
    inputs = int(getattr(field, "in_features", 2 if signal is None else signal.in_features))
    if inputs > 2:
        raise ValueError(f"maps are drawn for one or two coordinates, and the field has {inputs}")
    shape: tuple[int, ...] = (96, 96) if inputs == 2 else (1024,)
    if signal is not None:
        if signal.in_features != inputs:
            raise ValueError(f"the field reads {inputs} coordinates, and the signal has {signal.in_features}")
        shape = few_points(signal, math.prod(shape)).shape
    if field is None:
        first: Document = {"omega0": 3000.0} if inputs == 1 else {}
        field = staf(inputs, 3, generator=torch.Generator().manual_seed(seed), **first)
    layers = activation_maps(field.to(device), shape)
    rows = [
        (
            f"read by {layer.read_by}",
            f"variance {layer.variance:.3f}, excess kurtosis {layer.excess_kurtosis:+.2f}, "
            f"mean frequency {layer.mean_frequency:.3f} cycles per sample",
        )
        for layer in layers
    ]
    keys = ("read_by", "maps", "edges", "density", "frequency", "power")
    return Result("Features of every layer over the grid", rows, {k: [getattr(one, k) for one in layers] for k in keys})


RESULTS: dict[str, Entry] = {
    "ntk": Entry("empirical NTK on an image: eigenvalues, eigenfunctions, alignment (STAF, FINER, SIREN, FFN)", _ntk),
    "ntk-crop": Entry("the same on a crop of the image at its own spacing of samples", _ntk_crop),
    "ntk-audio": Entry("the same on audio", _ntk_audio),
    "ntk-roles": Entry("how much of the kernel weights, amplitudes, frequencies and phases make", _ntk_roles),
    "lazy": Entry("convergence that the kernel predicts, beside gradient descent", _lazy),
    "dynamics": Entry("how C, Omega and Phi move during a fit, layer by layer", _dynamics),
    "freeze": Entry("sinusoids frozen after a warm-up, against full training", _freeze),
    "activation-maps": Entry("what each layer computes over the grid: maps, distribution, spectrum", _activation_maps),
}
