"""`NetworkSpec`: the description of a network, in the network's own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from staf._documents import Document, Entries
from staf.nn.first_layer import FirstLayer

Factory = Callable[..., nn.Module]
# The key of constants that hold for every signal and task.
EVERY = "every"


@dataclass(frozen=True)
class Rates:
    """Learning rates of a network, by what is trained and how; docs/recipes-evidence.md has the evidence.

    Args:
        full_batch: Adam and Muon, every step sees all points. Mini-batches get half of it.
        soap: SOAP on large pictures; as `full_batch` if not given.
        short: Muon on large pictures that are trained for too few steps for SOAP; as `full_batch` if not given.
        small: Adam and Muon on small pictures, for few steps and for many; as `full_batch` if not given.
        medium: Adam and Muon on pictures that are too small for SOAP, for many steps; as `full_batch` if not given.
        mini_batch: Adam and Muon on mini-batches of pictures on a CPU, for few steps and for many, from the same search
            for every network (docs/results/data/cpu-rates.csv); half of `full_batch` if not given.
        audio_factor: the rate of Adam and Muon on full batches of audio, as a multiple of `full_batch`.
        audio_mini_batch: Adam and Muon on mini-batches of short recordings on a CPU, for many steps; half of
            `full_batch` if not given.
        audio_soap: SOAP on audio; two thirds of `soap` if not given.

    >>> Rates(1e-3).audio_soap == Rates(1e-3).soap * 2 / 3
    True
    """

    full_batch: float
    soap: float = 0.0
    short: float | None = None
    small: tuple[float, float] | None = None
    medium: float | None = None
    mini_batch: tuple[float, float] | None = None
    audio_factor: float = 1.0
    audio_mini_batch: float | None = None
    # SOAP on full batches of audio. Half a second of the paper's recording, width 64, 500 steps: STAF at 5e-4, 1e-3,
    # 2e-3 ends at 54.5, 55.0 and 55.5 dB, by Muon at 1.5e-3 at 53.2; one second, width 96, 300 steps: at 1e-3, 2e-3 and
    # 3e-3 at 55.4, 56.0 and 56.1 dB, by Muon at 3e-3 at 54.8.
    audio_soap: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "soap", self.soap or self.full_batch)
        object.__setattr__(self, "audio_soap", self.audio_soap or self.soap * 2 / 3)


@dataclass(frozen=True)
class Constants:
    """Arguments of the factory for a kind of signal that replace the defaults, and why.

    `from_signal` maps an argument to the attribute of the signal that it is read from.

    >>> from types import SimpleNamespace
    >>> Constants({"harmoniser": "audio"}, from_signal={"sample_rate": "rate"}).of(SimpleNamespace(rate=8000))
    {'harmoniser': 'audio', 'sample_rate': 8000}
    """

    arguments: Entries = field(default_factory=dict)
    reason: str = ""
    from_signal: Mapping[str, str] = field(default_factory=dict)

    def of(self, signal: Any) -> Document:
        """The arguments for a signal."""
        read = {argument: getattr(signal, attribute) for argument, attribute in self.from_signal.items()}
        return {**self.arguments, **read}


@dataclass(frozen=True)
class Settings:
    """What a restoration or a scene gives to one network: the rate of Adam and Muon, and constants.

    `per_pixel` is the first omega0 for each pixel along the longest observed side, at least 1 in all; networks whose
    first layer does not follow the pixels have none.

    >>> Settings(1e-3, per_pixel=0.15, constants={"hidden_omega0": 5.0}).arguments((48, 64))
    {'omega0': 9.6, 'hidden_omega0': 5.0}
    """

    rate: float
    per_pixel: float | None = None
    constants: Entries = field(default_factory=dict)

    def arguments(self, observed: tuple[int, ...] = ()) -> Document:
        """The network's arguments for an observation of this shape."""
        if self.per_pixel is None:
            return dict(self.constants)
        return {"omega0": round(max(1.0, self.per_pixel * max(observed)), 3), **self.constants}


@dataclass(frozen=True)
class Preset:
    """A published network with the recipe it was published with.

    Args:
        summary: a sentence.
        recipe: a name in `staf.planning.recipes`: the paper's budget, batch and schedule.
        arguments: of the factory, instead of the defaults.
        training: entries of the recipe in plain data that the network's own authors use instead of the paper's.
        from_signal: arguments of the factory that are read from a signal or a task.

    >>> Preset("SIREN.", "paper_image", training={"rate": 1e-4}).arguments_for(None)
    {}
    """

    summary: str
    recipe: str
    arguments: Entries = field(default_factory=dict)
    training: Entries = field(default_factory=dict)
    from_signal: Callable[[Any], Entries] | None = None

    def arguments_for(self, signal: Any) -> Document:
        """The arguments for a signal or a task."""
        read = {} if self.from_signal is None else self.from_signal(signal)
        return {**self.arguments, **read}


TASKS = {
    "image": "for images",
    "audio": "for recordings",
    "shape": "for shapes",
    "super_resolution": "for super-resolution",
    "denoising": "for denoising",
}


def paper_presets(
    network: str,
    training: Entries,
    *,
    arguments: Mapping[str, Entries] | None = None,
    changes: Mapping[str, Entries] | None = None,
    from_signal: Callable[[str, Any], Entries] | None = None,
) -> dict[str, Preset]:
    """`paper_image`, `paper_audio` and so on of a network that the paper compares STAF with.

    The paper says that learning rates are those of the original works: `training` are its authors' entries of a recipe,
    `changes` those of single tasks, `arguments` the network's by task. Steps and epochs are the paper's for all.

    >>> presets = paper_presets("SIREN", {"rate": 1e-4}, arguments={"audio": {"omega0": 3000.0}})
    >>> presets["paper_audio"].summary, presets["paper_audio"].arguments
    ("SIREN for recordings, with its authors' constants and rate.", {'omega0': 3000.0})
    """
    return {
        f"paper_{task}": Preset(
            f"{network} {words}, with its authors' constants and rate.",
            f"paper_{task}",
            (arguments or {}).get(task, {}),
            {**training, **(changes or {}).get(task, {})},
            None if from_signal is None else partial(from_signal, task),
        )
        for task, words in TASKS.items()
    }


def decay(final: float) -> Document:
    """A schedule as plain data: rates fall exponentially to `final` of their start; 1 is a constant rate.

    >>> decay(0.1), decay(1)
    ({'name': 'exponential', 'final': 0.1}, {'name': 'constant'})
    """
    return {"name": "constant"} if final == 1 else {"name": "exponential", "final": final}


def observed_shape(signal: Any) -> tuple[int, ...]:
    """The shape of what is seen: of a task's observation, or of a signal.

    >>> from types import SimpleNamespace
    >>> observed_shape(SimpleNamespace(shape=(64, 48)))
    (64, 48)
    """
    return tuple((getattr(signal, "observed", None) or signal).shape)


@dataclass(frozen=True)
class Row:
    """A row of the table in docs/networks.md: the network by default, or a variant made with `arguments`.

    `parameters` counts those of 2 inputs, 3 outputs, width 256 and depth 4; a complex number counts as one.
    """

    constants: str
    start: str
    parameters: int
    arguments: Entries = field(default_factory=dict)
    formula: str = ""
    source: str = ""
    note: str = ""


@dataclass(frozen=True)
class NetworkSpec:
    """One network: how it is made, where it comes from, and what a plan needs to know about it.

    Args:
        name: its name for `--model`, in files and in `staf.NAME`; the factory has the same.
        factory: `(in_features, out_features, *, width, depth, ..., generator, device, dtype)`.
        formula: the activation in one line of Markdown, with formulas in LaTeX.
        source: the paper.
        rates: learning rates.
        first_layer: how the first layer follows the frequencies of a signal.
        constants: by kind of signal, or under `EVERY`, arguments instead of the defaults.
        restoration: by task, `super_resolution` and `denoising`, the settings of full batches.
        scene: by network of `SCENE_NETWORKS`, its arguments and rate with layers of this one; none: not for scenes.
        presets: by name, such as `paper_image`, the published network and recipe.
        complex_weights: whether weights are complex, which Muon does not train.
        trained_activation: whether the activation has parameters of its own (C, Omega, Phi).
        layers: its layers in words, by default.
        grid: whether it has a hash grid, whose size a plan chooses.
        decoder: the `activation` of `ngp` that is this network's, for signals that it is too small for.
        start: how the activation starts, as a sentence, from the arguments that differ from the defaults.
        summary: the activation in a few words, for the README.
        rows: the table of docs/networks.md.

    >>> from staf.nn.networks import NETWORKS
    >>> print(NETWORKS["siren"].formula, NETWORKS["siren"].rates.full_batch)
    $\\sin(\\omega_0 x)$ 0.001
    """

    name: str
    factory: Factory
    formula: str
    source: str
    rates: Rates
    first_layer: FirstLayer = field(default_factory=FirstLayer)
    constants: Mapping[str, Constants] = field(default_factory=dict)
    restoration: Mapping[str, Settings] = field(default_factory=dict)
    scene: Mapping[str, Settings] = field(default_factory=dict)
    presets: Mapping[str, Preset] = field(default_factory=dict)
    complex_weights: bool = False
    trained_activation: bool = False
    layers: str = "4 activated layers of 256"
    grid: bool = False
    decoder: str | None = None
    start: Callable[[Entries], str] | None = None
    summary: str = ""
    rows: tuple[Row, ...] = ()

    def settings(self, task: str) -> Settings:
        """The settings of a restoration; the network's own rate and constants where none were found."""
        return self.restoration.get(task) or Settings(self.rates.full_batch)

    def table(self) -> list[str]:
        """The network's lines of the Markdown table in docs/networks.md."""
        lines = []
        for row in self.rows:
            said = {key: f'"{value}"' if isinstance(value, str) else value for key, value in row.arguments.items()}
            given = ", ".join(f"{key}={value}" for key, value in said.items())
            cells = [f"`{self.name}({given})`", row.formula or self.formula, row.constants, row.start]
            lines.append("| " + " | ".join([*cells, f"{row.parameters:,}{row.note}", row.source or self.source]) + " |")
        return lines
