"""The tables that a run of the comparison prints, from result files alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from paper.report.rows import counted
from paper.report.side_by_side import machine
from paper.runner.result import RunResult
from paper.sines.arms import ARMS
from paper.sines.code_tables import code_table
from paper.sines.merged import (
    FROZEN,
    Fits,
    Values,
    by_signal,
    gain,
    mean_and_error,
    merged,
    of,
    own_rates,
    won,
)
from paper.sines.parts import OMEGA0, PARTS
from staf._tables import Table

TITLES = {name: part.title for name, part in PARTS.items()}
# The arm that our plans have.
DEFAULT = "5 sines a layer"
MEASURED = ("mean", "worst", "over the frozen sine", "by signal", "pairs won")
COLUMNS = ("network", "rate", *MEASURED, "parameters", "width", "steps")


def tables(results: Sequence[RunResult]) -> list[Table]:
    """A table for each part that was run, with the number of seeds, the machine and the date in its title."""
    fits = merged(results)
    found = [part_table(TITLES[part], of(fits, part=part)) for part in TITLES if part != "scenes"]
    found += [scene_table(of(fits, part="scenes"))]
    found += [omega0_table(of(fits, part=part), OMEGA0[part]) for part in OMEGA0]
    found += [quantised_table(fits), code_table(results)]
    seeds = len({seed for one in fits for _, seed in one.values})
    about = f"{counted(seeds, 'seed')}; {machine(results)}" if seeds else machine(results)
    return [Table(f"{table.title} ({about})", table.columns, table.rows) for table in found if table.rows]


def base_of(one: Fits, fits: Sequence[Fits]) -> Fits | None:
    """The frozen sine that an arm is compared with: at the rate of its own search, or else at the same rate."""
    same = of(
        fits, arm=FROZEN, part=one.part, size=one.size, base_width=one.base_width, planned_steps=one.planned_steps,
        factor=one.factor, machine=one.machine,
    )  # fmt: skip
    found = [other for other in same if (other.searched if one.searched else other.rate == one.rate)]
    return found[0] if found else None


def gain_of(one: Fits, fits: Sequence[Fits]) -> Values:
    """Differences from the frozen sine by signal and seed; nothing of the frozen sine itself."""
    base = base_of(one, fits)
    return {} if base is None or one.arm == FROZEN else gain(one.values, base.values)


def part_table(title: str, fits: Sequence[Fits]) -> Table:
    """A row for each arm and rate."""
    some = sorted(fits, key=lambda one: (one.size, one.rate))
    return Table(title, COLUMNS, [_row(one, fits) for one in some])


def searched_table(title: str, fits: Sequence[Fits]) -> Table:
    """A row for each arm: the means of its search by rate, and what it reached with the best of them."""
    rates = sorted({rate for one in fits for rate in one.search}, key=float)
    rows = []
    for one in fits:
        name, *rest = _row(one, fits)
        rows.append([name, *(f"{one.search[rate]:.2f}" if rate in one.search else "" for rate in rates), *rest])
    return Table(title, ["network", *(f"search, {rate}" for rate in rates), *COLUMNS[1:]], rows)


def _row(one: Fits, fits: Sequence[Fits]) -> list[str]:
    gains, values = gain_of(one, fits), list(one.values.values())
    level = [f"{np.mean(values):.2f}", f"{min(values):.2f}"]
    sizes = [f"{one.details['parameters']:,}", str(one.details["width"]), str(one.details["steps"])]
    return [one.name, f"{one.rate:g}", *level, mean_and_error(gains), by_signal(gains), won(gains), *sizes]


def scene_table(fits: Sequence[Fits]) -> Table:
    """A row for each arm with its means by rate, and its difference from the frozen sine, each at its own best rate."""
    rates = sorted({one.rate for one in fits})
    best = sorted(own_rates(fits), key=lambda one: (list(ARMS).index(one.arm), one.steps))
    base = next((one for one in best if one.arm == FROZEN), None)
    ours = next((one for one in best if one.arm == DEFAULT), None)
    most = max((len(one.values) for one in fits), default=0)

    def mean(one: Fits) -> str:
        return f"{one.mean:.2f}" + (f" ({len(one.values)} seeds)" if len(one.values) < most else "")

    rows = []
    for one in best:
        means = [next(map(mean, of(fits, arm=one.arm, steps=one.steps, rate=rate)), "") for rate in rates]
        gains = gain(one.values, base.values) if base is not None and one is not base else {}
        behind = gain(ours.values, one.values) if ours is not None and one is not ours else {}
        shown = [mean_and_error(gains), won(gains), mean_and_error(behind)]
        rows.append([one.name, str(one.steps), *means, f"{one.rate:g}", *shown, f"{one.details['parameters']:,}"])
    columns = ["rate by search", "over the frozen sine", "pairs won", f"{DEFAULT} over it", "parameters"]
    return Table(TITLES["scenes"], ["network", "steps", *(f"{rate:g}" for rate in rates), *columns], rows)


def omega0_table(fits: Sequence[Fits], signals: str) -> Table:
    """A column for each factor: the frozen sine's mean, and the others' differences from it."""

    def cell(one: Fits) -> str:
        gains = gain_of(one, fits)
        return f"{mean_and_error(gains)} ({won(gains)})" if gains else f"{one.mean:.2f} dB"

    title = f"{signals.capitalize()}, first frequencies times a factor: dB over the frozen sine, and pairs won"
    return _by_factor(title, fits, cell)


def omega0_means(fits: Sequence[Fits]) -> Table:
    """The means with their rates."""
    title = "First frequencies times a factor: mean PSNR (dB) and rate"
    return _by_factor(title, fits, lambda one: f"{one.mean:.2f} ({one.rate:g})")


def _by_factor(title: str, fits: Sequence[Fits], cell: Callable[[Fits], str]) -> Table:
    factors = sorted({one.factor for one in fits})
    rows = []
    for name in dict.fromkeys(one.name for one in fits):
        own = {one.factor: cell(one) for one in of(fits, name=name)}
        rows.append([name, *(own.get(factor, "") for factor in factors)])
    return Table(title, ["network", *(f"x{factor:g}" for factor in factors)], rows)


def quantised_table(fits: Sequence[Fits]) -> Table:
    """Means as rounded, after the steps of the rest, and bytes."""
    some = [one for arm in ARMS for one in of(fits, arm=arm) if one.bytes]
    bits = list(some[0].bytes) if some else []

    def cell(one: Fits, bit: str) -> str:
        means = [f"{np.mean(list(kept[bit].values())):.2f}" for kept in (one.rounded, one.refined)]
        return f"{', '.join(means)} ({one.bytes[bit] / 1000:.1f} kB)"

    title = "Pictures, matrices rounded, the rest float: PSNR (dB) as rounded, and after 100 steps of the rest"
    return Table(
        title,
        ["network", "width", *(f"{bit} bits" for bit in bits)],
        [[one.arm, str(one.details["width"]), *(cell(one, bit) for bit in bits)] for one in some],
    )
