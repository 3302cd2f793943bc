"""Arms as parts of larger networks: the decoder behind a hash grid, and the two perceptrons of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from paper.sines.arms import Arm, network
from paper.sines.signals import Problem, pictures
from staf.kinds.scene.task import Radiance

# A grid that cannot hold the picture alone: 6 levels of at most 2^8 rows.
GRID: dict[str, Any] = {"levels": 6, "features": 2, "log2_entries": 8, "coarsest": 4, "finest": 32}
DECODER_DEPTH = 2
# Numbers that the first perceptron of a scene hands to the second, beside the density.
FEATURES = 15
SCENE_DEPTH = 3


def grids(sources: Sequence[Any], side: int) -> Problem:
    """Pictures by a hash grid and two layers of an arm."""
    plain = pictures(sources, side)
    inputs = GRID["levels"] * GRID["features"]
    return Problem(
        plain.tasks, plain.names, constants={"omega0": 30.0, "hidden_omega0": 30.0}, make=behind_grid,
        features=(inputs, 3),
    )  # fmt: skip


def behind_grid(arm: Arm, inputs: int, outputs: int, width: int, seed: int, **constants: Any) -> nn.Module:
    """A hash grid of the plane, and an arm of two layers behind it.

    >>> from paper.sines.arms import ARMS
    >>> behind_grid(ARMS["frozen sine"], 12, 3, 8, 0, omega0=30.0)(torch.zeros(4, 2)).shape
    torch.Size([4, 3])
    """
    from staf.nn.encodings import HashGridEncoding

    encoding = HashGridEncoding(2, **GRID, generator=torch.Generator().manual_seed(seed))
    return nn.Sequential(encoding, network(arm, inputs, outputs, width, seed, depth=DECODER_DEPTH, **constants))


def scenes(scene: Any, omega0: float, rays: int, samples: int) -> Problem:
    """Photos of a scene by two perceptrons of an arm; rates are searched on other held-out views than those measured.

    `rays` are those of a step, and `samples` the most places along them that a step computes.
    """
    searched, counted = (subset(scene.test, range(first, len(scene.test), 2)) for first in (0, 1))
    task = TwoSetsOfViews(scene.with_photos(scene.train, counted), searched, samples)
    constants = {"omega0": omega0, "hidden_omega0": 30.0}
    return Problem(
        [task], [scene.name], constants=constants, batch=rays, make=of_a_scene, features=(3, 1 + FEATURES),
        searched="searched_psnr", stateful=True,
    )  # fmt: skip


class TwoSetsOfViews(Radiance):
    """A scene that is also measured on views which rates are searched by.

    Args:
        scene: with the views that count.
        searched: the views of the search.
        samples: of one step, at most.
    """

    def __init__(self, scene: Any, searched: Any, samples: int) -> None:
        super().__init__(scene, samples=samples)
        self.searched = searched

    def evaluate(self, predict: Any) -> dict[str, float]:
        searched = self._measured(predict, self.searched, keep=False)["psnr"]
        return {**super().evaluate(predict), "searched_psnr": searched}


def subset(views: Any, places: Sequence[int]) -> Any:
    """Some of the views."""
    from staf.kinds.scene.reading import Views

    some = list(places)
    return Views([views.names[i] for i in some], views.pixels[some], views.cameras.subset(some))


def of_a_scene(arm: Arm, inputs: int, outputs: int, width: int, seed: int, **constants: Any) -> nn.Module:
    """Density and features of a position, colour of features and a direction, both by three layers of an arm.

    >>> from paper.sines.arms import ARMS
    >>> of_a_scene(ARMS["5 sines a layer"], 3, 1 + FEATURES, 8, 0, omega0=30.0)(torch.zeros(4, 6)).shape
    torch.Size([4, 4])
    """
    from staf.nn.radiance_field import RadianceField

    position = network(arm, inputs, outputs, width, 2 * seed, depth=SCENE_DEPTH, **constants)
    colour = network(arm, FEATURES + 3, 3, width, 2 * seed + 1, depth=SCENE_DEPTH, **constants)
    return RadianceField(position, colour, features=FEATURES)
