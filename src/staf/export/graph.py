"""What a network computes at one point, as a short list of steps that every export format is written from.

Value 0 is the vector of coordinates; step i makes value i + 1 from earlier values; the last value is the output.
Complex vectors are real vectors of twice the length, (Re z_0, Im z_0, Re z_1, ...).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
COORDINATES = 0


@dataclass(frozen=True, eq=False)
class OfOne:
    """A step that reads one value."""

    source: int

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.source,)


@dataclass(frozen=True, eq=False)
class OfTwo:
    """A step that reads two values of one length."""

    first: int
    second: int

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.first, self.second)


@dataclass(frozen=True, eq=False)
class Dense(OfOne):
    """y = W x + b, with W (m, k) and b (m,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class SineSeries(OfOne):
    """y = sum_i C_i sin(Omega_i x + Phi_i) + offset; C, Omega, Phi are (1, terms), or (m, terms) for m neurons."""

    amplitude: Array
    frequency: Array
    phase: Array
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Finer(OfOne):
    """y = sin(omega0 (|x| + 1) x)."""

    omega0: float


@dataclass(frozen=True, eq=False)
class Gauss(OfOne):
    """y = exp(-(sigma x)^2)."""

    sigma: float


@dataclass(frozen=True, eq=False)
class Relu(OfOne):
    """y = max(x, 0)."""


@dataclass(frozen=True, eq=False)
class Chebyshev(OfOne):
    """y = (T_1(tanh x_1), ..., T_degree(tanh x_1), T_1(tanh x_2), ...), T_d the Chebyshev polynomial of degree d."""

    degree: int


@dataclass(frozen=True, eq=False)
class Radiance(OfOne):
    """y = (exp(min(x_1, 15)), sigmoid(x_2), sigmoid(x_3), ...): density, and colours."""


@dataclass(frozen=True, eq=False)
class Window:
    """y_j = exp(-sharpness_j |x - centre_j|^2 / 2) of the coordinates x, with centre (m, d) and sharpness (m,)."""

    centre: Array
    sharpness: Array

    @property
    def sources(self) -> tuple[int, ...]:
        return (COORDINATES,)


@dataclass(frozen=True)
class GridLevel:
    """One grid: cells on each axis, its first row of the table, its rows, and whether every vertex has one.

    Vertex v of a dense level is in row v_0 (n_1 + 1) ... + v_d of it, in C order. Of others it is in row
    (v_d 1 xor v_(d-1) 2654435761 xor v_(d-2) 805459861 xor v_(d-3) 3674653429) mod rows, and rows is a power of two.
    """

    resolution: tuple[int, ...]
    offset: int
    rows: int
    dense: bool


PRIMES = (1, 2654435761, 805459861, 3674653429)


@dataclass(frozen=True, eq=False)
class HashGrid:
    """y = features of the coordinates' cell in each level, interpolated between its corners; levels side by side.

    A grid of d axes reads the first d coordinates x. With p = (clamp(x, -1, 1) + 1) / 2 resolution,
    cell = min(floor(p), resolution - 1) and s = p - cell, the corner b counts by the product over axes of s where b is
    1 and 1 - s where it is 0; `smooth` has s^2 (3 - 2 s) for s. `table` is (rows of all levels, features).
    """

    table: Array
    levels: tuple[GridLevel, ...]
    smooth: bool

    @property
    def sources(self) -> tuple[int, ...]:
        return (COORDINATES,)


@dataclass(frozen=True, eq=False)
class Gabor:
    """y = exp(i omega0 z - sigma0^2 (|z|^2 + |w|^2)) of complex z, and of complex w where `orthogonal` is given."""

    source: int
    omega0: float
    sigma0: float
    orthogonal: int | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.source,) if self.orthogonal is None else (self.source, self.orthogonal)


@dataclass(frozen=True, eq=False)
class Sum(OfTwo):
    """y = a + b."""


@dataclass(frozen=True, eq=False)
class Product(OfTwo):
    """y = a b, element by element."""


Step = Dense | SineSeries | Finer | Gauss | Relu | Chebyshev | Radiance | Window | HashGrid | Gabor | Sum | Product


@dataclass
class Graph:
    """The steps of a network from `in_features` coordinates; `widths[v]` is the length of value v.

    >>> graph = Graph(2)
    >>> hidden = graph.add(Dense(COORDINATES, np.ones((8, 2)), np.zeros(8)))
    >>> _ = graph.add(Relu(hidden))
    >>> graph.widths, graph.out_features, graph.parameters
    ([2, 8, 8], 8, 24)
    """

    in_features: int
    steps: list[Step] = field(default_factory=list)
    widths: list[int] = field(init=False)

    def __post_init__(self) -> None:
        given, self.steps, self.widths = self.steps, [], [self.in_features]
        for step in given:
            self.add(step)

    @property
    def out_features(self) -> int:
        return self.widths[-1]

    @property
    def parameters(self) -> int:
        """The numbers in all arrays of all steps."""
        return sum(array.size for step in self.steps for array in arrays(step).values())

    def add(self, step: Step) -> int:
        """Append a step, and return the number of the value that it makes."""
        for source in step.sources:
            if not 0 <= source < len(self.widths):
                raise ValueError(f"{type(step).__name__} reads value {source}, which no earlier step makes")
        self.widths.append(self._width(step))
        self.steps.append(step)
        return len(self.steps)

    def _width(self, step: Step) -> int:
        name, widths = type(step).__name__, [self.widths[source] for source in step.sources]
        if isinstance(step, Dense):
            if step.weight.shape != (len(step.bias), widths[0]):
                raise ValueError(f"Dense has a weight of {step.weight.shape} for {widths[0]} inputs, {step.bias.shape}")
            return len(step.bias)
        if isinstance(step, Window):
            if step.centre.shape != (len(step.sharpness), widths[0]):
                raise ValueError(f"Window has centres of {step.centre.shape} for {widths[0]} coordinates")
            return len(step.sharpness)
        if isinstance(step, HashGrid):
            if any(len(level.resolution) > widths[0] for level in step.levels):
                raise ValueError(
                    f"HashGrid has levels of {step.levels[0].resolution} cells for {widths[0]} coordinates"
                )
            return len(step.levels) * step.table.shape[1]
        if isinstance(step, Chebyshev):
            return widths[0] * step.degree
        if isinstance(step, SineSeries) and len(step.amplitude) not in (1, widths[0]):
            raise ValueError(f"SineSeries has sinusoids of {len(step.amplitude)} neurons for {widths[0]}")
        if len(set(widths)) != 1:
            raise ValueError(f"{name} joins vectors of lengths {widths}")
        return widths[0]


def arrays(step: Step) -> dict[str, Array]:
    """The arrays of a step by name.

    >>> list(arrays(Window(np.zeros((3, 2)), np.ones(3))))
    ['centre', 'sharpness']
    """
    return {name: value for name, value in vars(step).items() if isinstance(value, np.ndarray)}
