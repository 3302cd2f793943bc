"""INCODE: a SIREN whose sine is scaled, stretched and shifted by four numbers read from the target."""

from __future__ import annotations

import copy
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from staf import ops
from staf._documents import Document
from staf._typing import Float
from staf.nn.activations import Sine
from staf.nn.arguments import check
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.harmoniser import Harmoniser
from staf.nn.linear import check_coordinates


@runtime_checkable
class Observed(Protocol):
    """What `bind` needs of a task."""

    @property
    def observation(self) -> Tensor: ...


class Incode(nn.Module):
    """z = exp(a) sin(exp(b) omega0 (W x + b') + c) + d in every activated layer, (a, b, c, d) shared by all of them.

    `harmoniser` reads the four numbers from the observation, which `bind(task)` hands over before training; gradients
    flow through it. `baked()` returns the field with the four numbers as a constant buffer and without the harmoniser.

    Args:
        composer: a `CoordinateMLP` whose activations have an `omega0`; its layers are used, its activations replaced.
        harmoniser: None for a baked field.
        coefficients: the four numbers of a baked field before its state is loaded.
        penalty: weights of relu(-a), relu(-b), relu(-c), relu(-d).

    >>> from staf.nn import incode
    >>> field = incode(2, 3, width=16, depth=2, harmoniser=None)
    >>> field(torch.zeros(5, 2)).shape, field.coefficients().shape
    (torch.Size([5, 3]), torch.Size([4]))
    """

    architecture: Document
    observation: Tensor | None
    constants: Tensor

    def __init__(
        self,
        composer: CoordinateMLP,
        harmoniser: Harmoniser | None,
        *,
        coefficients: float,
        penalty: tuple[float, float, float, float],
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = composer.in_features, composer.out_features
        self.composer = composer
        self.harmoniser = harmoniser
        self.weights = check("penalty", penalty, tuple[float, float, float, float])
        # Not saved: the observation is the data, and a resumed run binds the task again.
        self.register_buffer("observation", None, persistent=False)
        constants = composer.output.bias.new_full((4,), coefficients) if harmoniser is None else None
        self.register_buffer("constants", constants)

    def bind(self, task: Observed) -> None:
        """Read the task's observation: image (c, h, w), audio (c, n) or shape (1, d, h, w). No effect once baked.

        Pixels that are a part of a picture are read as that `picture`.
        """
        if self.harmoniser is not None:
            weight = self.composer.output.weight
            read: Tensor = getattr(task, "picture", task.observation)
            self.observation = self.harmoniser.prepare(read.detach().to(weight.device, weight.dtype))

    def coefficients(self) -> Float[Tensor, 4]:
        """(a, b, c, d)."""
        if self.harmoniser is None:
            return self.constants
        if self.observation is None:
            raise RuntimeError("INCODE reads its target: call field.bind(task) before using the field")
        # Half precision would round exp(b) omega0, the frequency itself.
        with torch.autocast(device_type=self.observation.device.type, enabled=False):
            return self.harmoniser(self.observation)

    def penalty(self) -> Float[Tensor, ""]:
        """The weighted sum of relu(-a), relu(-b), relu(-c), relu(-d): part of the training loss."""
        shortfalls = torch.relu(-self.coefficients()).unbind()
        return torch.stack([w * shortfall for w, shortfall in zip(self.weights, shortfalls, strict=True)]).sum()

    def baked(self) -> Incode:
        """The same field with its four numbers as constants, and an architecture that says so."""
        if self.harmoniser is None:
            return self
        field = Incode(copy.deepcopy(self.composer), None, coefficients=0.0, penalty=self.weights)
        with torch.no_grad():
            field.constants.copy_(self.coefficients())
        arguments = {**self.architecture["arguments"], "harmoniser": None, "sample_rate": None}
        field.architecture = {"name": self.architecture["name"], "arguments": arguments}
        return field

    def hidden_matrices(self) -> list[Tensor]:
        """Those of the composer."""
        return self.composer.hidden_matrices()

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        check_coordinates(coordinates, self.in_features)
        a, b, c, d = self.coefficients().unbind()
        z = coordinates
        for index, layer in enumerate(self.composer.layers):
            sine = self.composer.activation(index)
            assert isinstance(sine, Sine)
            frequency = torch.exp(b) * sine.omega0
            z = ops.sine_series(layer(z), torch.exp(a)[None], frequency[None], c[None])
            # As a row, its gradient is summed by column, in the same order for any number of threads.
            z = z + d.expand(z.shape[-1])
        return self.composer.output(z)
