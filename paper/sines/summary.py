"""The summary: for each question the fits that answer it, what they have over the frozen sine, and who is first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paper.sines.arms import ARMS
from paper.sines.merged import FROZEN, Fits, Values, gain, is_positive, mean_and_error, of, own_rates
from paper.sines.quantised import BITS
from staf._tables import Table

# Of the networks but for those that ran first and those of equal bytes.
WIDTH = 64
# The frozen sine that five sines for each layer of width 64 have the bytes of.
BYTES_WIDTH = 65
# Widths with as many bytes but for so large a part are compared.
EQUAL = 0.02
# Arms that the summary has columns of, and their short names there.
SHOWN = {
    "trained Omega": "Omega",
    "5 sines a layer": "5 a layer",
    "5 sines a neuron": "5 a neuron",
    "frozen sine, wider": "wider",
    "frozen sine, longer": "longer",
}


@dataclass(frozen=True)
class Question:
    """A line of the summary: which fits answer it.

    Args:
        title: what is asked, and the signals' size.
        part: of the comparison.
        size: of the signals.
        rate: of all arms; each at the rate of its own search if not given.
        factor: of the first omega0.
        machine: that ran, `GPU` or `CPU`.
        drawn: whether its differences are of the figure's size.
    """

    title: str
    part: str
    size: float
    rate: float | None = None
    factor: float = 1.0
    machine: str = "CPU"
    drawn: bool = True

    @property
    def said_rate(self) -> str:
        """How the rate was found, in a table."""
        return "searched" if self.rate is None else f"{self.rate:g}"

    def among(self, fits: Sequence[Fits]) -> list[Fits]:
        """The fits that answer it, one of each arm."""
        found = of(
            fits, part=self.part, size=self.size, factor=self.factor, machine=self.machine, omega_rate=None
        )  # fmt: skip
        found = [one for one in told_apart(found) if one.base_width == WIDTH]
        if self.rate is not None:
            return of(found, rate=self.rate)
        if self.part != "scenes":
            return [one for one in found if one.searched]
        # Where an arm ran with several numbers of steps, the fewest.
        fewest = {one.arm: one for one in sorted(own_rates(found), key=lambda one: -one.steps)}
        return [fewest[arm] for arm in ARMS if arm in fewest]


QUESTIONS = (
    Question("pictures, 96x96", "omega0", 96),
    Question("pictures, 128x128", "pictures", 128, 2e-3, machine="GPU"),
    Question("pictures, 128x128, a high rate", "pictures", 128, 8e-3, machine="GPU", drawn=False),
    Question("pictures, 64x64", "omega0", 64),
    Question("pictures, 64x64, omega0 x1/8", "omega0", 64, None, 1 / 8),
    Question("pictures, 64x64, omega0 x8", "omega0", 64, None, 8.0),
    Question("recording, 0.25 s", "recordings", 0.25, 2e-3, machine="GPU"),
    Question("recording, 0.25 s, one Omega", "omega0 sound", 0.25, 2e-3),
    Question("recording, 0.03 s", "omega0 sound", 0.03),
    Question("recording, 0.03 s, omega0 x1/8", "omega0 sound", 0.03, None, 1 / 8),
    Question("recording, 0.03 s, omega0 x8", "omega0 sound", 0.03, None, 8.0),
    Question("shapes, 64 voxels", "shapes", 64, 2e-3, machine="GPU"),
    Question("two shapes, 64 voxels", "shapes", 64, 2e-3),
    Question("shapes, 32 voxels", "shapes", 32),
    Question("behind a hash grid, 128x128", "grids", 128, 2e-3, machine="GPU"),
    Question("behind a hash grid, 128x128, searched", "grids", 128),
    Question("behind a hash grid, 64x64", "grids", 64),
    Question("scene, 50x50", "scenes", 50),
    Question("gaps in harmonic tones", "tones", 0.25, 2e-3),
    Question("gaps in a recording", "gaps", 0.25, 2e-3),
    Question("equations", "equations", 128, 1e-3, drawn=False),
    Question("equations, twice that rate", "equations", 128, 2e-3, drawn=False),
)


@dataclass(frozen=True)
class Bytes:
    """A line of the summary: matrices rounded to so many bits, arms with as many bytes as a frozen sine.

    Args:
        bits: of an entry of a matrix.
        budget: the bits with which the frozen sine of width 65 has the bytes, if other ones.
    """

    bits: int
    budget: int | None = None
    said_rate = "0.002"
    drawn = True

    @property
    def title(self) -> str:
        return f"weights of {self.bits} bits, equal bytes"

    def among(self, fits: Sequence[Fits], *, refined: bool = True) -> list[Fits]:
        """The fits with equal bytes, whose values are those with rounded matrices: at once, or after the last steps."""
        key, budget = str(self.bits), str(self.budget or self.bits)
        kept = [one for one in of(fits, part="pictures", size=64) if key in one.bytes]
        wanted = [one.bytes[budget] for one in of(kept, arm=FROZEN, base_width=BYTES_WIDTH)]
        close = [one for one in kept if wanted and abs(one.bytes[key] / wanted[0] - 1) < EQUAL]
        return [replace(one, values=(one.refined if refined else one.rounded)[key]) for one in close]


@dataclass(frozen=True)
class Budget:
    """A line of the summary: each arm at the best of several numbers of bits, with widths that have equal bytes."""

    budget: int = BITS[0]
    said_rate = "0.002"
    drawn = True
    title = "7.6 kB, each at its best bits and width"

    def cells(self, fits: Sequence[Fits]) -> dict[tuple[str, int], Fits]:
        """Arm and bits to the fits, on the pictures and seeds that all of them have."""
        found = {
            (one.arm, bits): one for bits in BITS for one in Bytes(bits, self.budget).among(fits)
        }  # fmt: skip
        common = set.intersection(*(set(one.values) for one in found.values())) if found else set()
        return {
            place: replace(one, values={pair: value for pair, value in one.values.items() if pair in common})
            for place, one in found.items()
        }

    def among(self, fits: Sequence[Fits]) -> list[Fits]:
        """The best of each arm."""
        best: dict[str, Fits] = {}
        for (arm, _), one in sorted(self.cells(fits).items(), key=lambda cell: cell[1].mean):
            best[arm] = one
        return [best[arm] for arm in ARMS if arm in best]


BYTES = tuple(Bytes(bits) for bits in BITS)
LINES: tuple[Question | Bytes | Budget, ...] = (*QUESTIONS, *BYTES, Budget())


def summary(fits: Sequence[Fits]) -> Table:
    """A line for each question: the arm with the highest mean, how clear that is, and what the others have."""
    rows = []
    for question in LINES:
        found = question.among(fits)
        base = next((one for one in found if one.arm == FROZEN), None)
        if base is not None and len(found) > 1:
            gains = {one.arm: gain(one.values, base.values) for one in found if one is not base}
            cells = [_in_bold(gains.get(arm, {})) for arm in SHOWN]
            signals = max(len({name for name, _ in one.values}) for one in found)
            seeds = max(len({seed for _, seed in one.values}) for one in found)
            about = ", ".join([f"{signals} x {seeds}", question.said_rate, base.machine])
            rows.append([question.title, first_of(found), *cells, about])
    columns = ["question", "first", *SHOWN.values(), "signals x seeds, rate, machine"]
    return Table("Differences from the frozen sine (dB)", columns, rows)


def first_of(fits: Sequence[Fits]) -> str:
    """The arm with the highest mean, in bold if it is ahead of all others at 95%, or with those it is not ahead of.

    >>> a, b = (Fits(arm, "grids", 64, 64, 150, 1.0, None, 2e-3) for arm in ("frozen sine", "5 sines a layer"))
    >>> a.values |= {("x", 0): 1.0, ("x", 1): 2.0}
    >>> b.values |= {("x", 0): 2.0, ("x", 1): 3.1}
    >>> first_of([a, b])
    '**5 a layer**'
    """
    best = max(fits, key=lambda one: one.mean)
    level = [one.arm for one in fits if one is not best and not is_positive(gain(best.values, one.values))]
    if not level:
        return f"**{SHOWN.get(best.arm, best.arm)}**"
    if FROZEN in level or best.arm == FROZEN:
        return "none"
    return " = ".join(SHOWN.get(arm, arm) for arm in (best.arm, *level))


def _in_bold(gains: Values) -> str:
    """The mean with its standard error, with one place where a line can break; in bold if it is not zero at 95%."""
    text = mean_and_error(gains).replace("± ", "±")
    clear = is_positive(gains) or is_positive({pair: -value for pair, value in gains.items()})
    return f"**{text}**" if clear else text


def is_first_run(fits: Fits) -> bool:
    """Whether it is of the narrow networks that ran first; those with equal bytes may be narrow too."""
    return fits.base_width < WIDTH and not (fits.bytes and fits.size == 64)


def told_apart(fits: Sequence[Fits]) -> list[Fits]:
    """Without signals for which all fits of all arms end with the same value, such as a perfect one."""
    levels: dict[str, list[float]] = {}
    for one in fits:
        for (name, _), value in one.values.items():
            levels.setdefault(name, []).append(value)
    kept = {name for name, values in levels.items() if len(values) == 1 or len(set(values)) > 1}
    return [replace(one, values={pair: v for pair, v in one.values.items() if pair[0] in kept}) for one in fits]
