"""`FittedField`: a trained network that knows what its coordinates and values mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from staf._device import choose_device
from staf.nn import derivatives
from staf.signals import SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import points_at_once
from staf.signals.value_transform import IDENTITY, ValueTransform, value_transform
from staf.storage import file
from staf.training.prediction import in_chunks, predictor

if TYPE_CHECKING:
    from staf.viewer import EmbeddedPage


class FittedField(nn.Module):
    """A trained network together with the meaning of its coordinates and values.

    Calling it maps coordinates (n, d) in [-1, 1] to values (n, c) in the signal's own units. `module` is the network;
    its outputs are scaled to the value range of the signal. `metadata` is the description in its file. A fitted field
    is a `torch.nn.Module`: `state_dict`, `parameters` and `to` work as usual, and it can be part of a larger module.
    """

    def __init__(self, module: nn.Module, metadata: dict[str, Any]) -> None:
        super().__init__()
        self.module = module
        self.metadata = metadata
        self._signal: Any = None

    def __repr__(self) -> str:
        count = sum(p.numel() for p in self.module.parameters())
        name = (getattr(self.module, "architecture", None) or {}).get("name", type(self.module).__name__)
        kind = (self.metadata.get("signal") or {}).get("kind", "values")
        return f"FittedField({name}, {count:,} parameters, {kind})"

    @property
    def convention(self) -> Convention:
        """The positions of samples on a grid: `centres` or `ends`."""
        return "ends" if self.metadata.get("convention") == "ends" else "centres"

    @property
    def signal(self) -> Any:
        """The fitted signal without its data: its kind, shape, depth and value range."""
        if self._signal is None:
            from staf.kinds import from_metadata

            if self.metadata.get("signal") is None:
                raise SignalError("this field was fitted to a task of your own, so it has no signal to render")
            signal = from_metadata(self.metadata["signal"])
            if signal.in_features != getattr(self.module, "in_features", signal.in_features):
                raise SignalError(
                    f"the field has {self.module.in_features} coordinates, and its metadata describe a signal with "
                    f"{signal.in_features}"
                )
            self._signal = signal
        return self._signal

    def forward(self, coordinates: Tensor | np.ndarray) -> Tensor:
        """Values (n, c) at coordinates (n, d), a tensor or an array; differentiable."""
        parameter, points = next(self.module.parameters()), torch.as_tensor(coordinates)
        return self._transform().values(self.module(points.to(parameter.device, parameter.real.dtype)))

    def predict(self, coordinates: Tensor | np.ndarray, chunk: int | None = None) -> Tensor:
        """Values without gradients, `chunk` points at a time (default: 65,536, and 262,144 on a GPU).

        On a GPU, a repeated call for few points is recorded and replayed; see `staf.training.replay`.
        """
        parameter = next(self.module.parameters())
        device, dtype = parameter.device, parameter.real.dtype
        chunk = points_at_once(device) if chunk is None else chunk
        values, evaluate = self._transform().values, predictor(self.module, chunk)
        return in_chunks(lambda part: values(evaluate(part.to(device, dtype))), torch.as_tensor(coordinates), chunk)

    def _points(self, coordinates: Tensor | np.ndarray) -> Tensor:
        """Floating-point coordinates (n, d), which derivatives need."""
        points = torch.as_tensor(coordinates)
        expected = getattr(self.module, "in_features", points.shape[-1] if points.dim() else 1)
        if points.dim() != 2 or points.shape[1] != expected:
            raise ValueError(f"coordinates must have shape (n, {expected}), got {tuple(points.shape)}")
        return points if points.is_floating_point() else points.float()

    def gradient(self, coordinates: Tensor | np.ndarray) -> Tensor:
        """The exact gradient d value / d position, (n, c, d), in the signal's own units: per pixel, per second."""
        return derivatives.gradient(self, self._points(coordinates), units=self._units())

    def divergence(self, coordinates: Tensor | np.ndarray) -> Tensor:
        """The exact divergence sum_k d value_k / d position_k, (n,), of a field with as many values as coordinates."""
        return derivatives.divergence(self, self._points(coordinates), units=self._units())

    def laplacian(self, coordinates: Tensor | np.ndarray) -> Tensor:
        """The exact Laplacian sum_k d^2 value / d position_k^2, (n, c), in the signal's own units."""
        return derivatives.laplacian(self, self._points(coordinates), units=self._units())

    def render(self, **how: Any) -> Any:
        """Render the signal at any scale, size or crop; the `render` of its kind explains the arguments."""
        # Coordinates are made where they are used.
        how = {"device": next(self.module.parameters()).device, **how}
        return self.signal.render(self.predict, convention=self.convention, **how)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file that `staf.load` opens without the data."""
        if self.metadata.get("signal") is not None and Path(path).suffix.lower() in self.signal.view.suffixes():
            raise ValueError(
                f"path must end in .safetensors, got {os.fspath(path)!r}: this writes the network; "
                f"field.render().save(path) writes the {self.signal.view.noun}"
            )
        file.save_field(path, self.module, self.metadata)
        return Path(path)

    def export(self, path: str | os.PathLike[str], *, half: bool = False) -> Path:
        """Write the field for other programs. The suffix is the format: .html (a page), .onnx, .c, .glsl or .wgsl.

        For pages, `half` stores large matrices as float16, which halves the size.
        """
        from staf.viewer import export

        return export(self, path, half=half)

    def view(self, *, height: int = 560) -> EmbeddedPage:
        """Show the field in a notebook; `staf view FILE` shows it in the browser."""
        from staf.viewer import embedded

        return embedded(self, height=height)

    def to(self, *args: Any, **kwargs: Any) -> FittedField:
        """Move the field to a device, or change its precision: `field.to("cuda")`, `field.to(torch.float64)`."""
        try:
            device, dtype = torch._C._nn._parse_to(*args, **kwargs)[:2]
        except RuntimeError:
            # A device that torch does not know by name.
            device, dtype = choose_device(kwargs.get("device", args[0] if args else None)), None
        if device is not None:
            choose_device(device)
        if dtype not in (None, torch.float32, torch.float64):
            raise TypeError(f"dtype must be torch.float32 or torch.float64, got {dtype}: sines need their precision")
        return super().to(*args, **kwargs)

    def half(self) -> FittedField:
        return self.to(torch.float16)

    def bfloat16(self) -> FittedField:
        return self.to(torch.bfloat16)

    def _units(self) -> tuple[float, ...] | None:
        """The signal's own units (pixels, seconds) in one unit of each coordinate."""
        return None if self.metadata.get("signal") is None else self.signal.coordinate_units(self.convention)

    def _transform(self) -> ValueTransform:
        return IDENTITY if self.metadata.get("signal") is None else value_transform(self.signal)
