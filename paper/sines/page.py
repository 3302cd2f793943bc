"""The tables of the page of this comparison, and of its page of evidence."""

from __future__ import annotations

from collections.abc import Sequence

from paper.runner.result import RunResult
from paper.sines.arms import ARMS
from paper.sines.code_tables import code_table
from paper.sines.merged import FROZEN, Fits, Values, by_signal, gain, mean_and_error, merged, of, won
from paper.sines.parts import OMEGA0
from paper.sines.summary import BYTES, WIDTH, Budget, is_first_run, summary, told_apart
from paper.sines.tables import (
    TITLES,
    gain_of,
    omega0_means,
    omega0_table,
    part_table,
    quantised_table,
    scene_table,
    searched_table,
)
from staf._tables import Table

# Below so many decibels an equation is not solved.
SOLVED = 20.0
# What the part "told equations" is called in a table.
KNOWN = "equations, all frequencies known"


def page_tables(results: Sequence[RunResult]) -> dict[str, Table]:
    """The tables of the page by name; an empty table stands for what was not run."""
    fits = [one for one in merged(results) if not is_first_run(one)]
    own = {part: of(fits, part=part) for part in TITLES}
    found = {"sines-summary": summary(fits)}
    for part, size in (("pictures", 128), ("recordings", 0.25), ("shapes", 64), ("grids", 128)):
        found[f"sines-{part}"] = part_table(TITLES[part], told_apart(of(own[part], size=size, machine="GPU")))
    searched = [one for one in of(fits, part="omega0", size=96) if one.searched]
    found["sines-pictures-searched"] = searched_table(TITLES["pictures"], searched)
    grids = [one for one in of(own["grids"], size=128, machine="CPU") if one.searched]
    found["sines-grids-searched"] = searched_table(TITLES["grids"], grids)
    found["sines-shapes-cpu"] = part_table(TITLES["shapes"], told_apart(of(own["shapes"], size=64, machine="CPU")))
    found["sines-recordings-cpu"] = part_table(TITLES["recordings"], of(fits, part="omega0 sound", size=0.25))
    found["sines-gaps"] = part_table(TITLES["gaps"], own["gaps"])
    found["sines-scenes"] = scene_table(own["scenes"])
    found["sines-omega0"] = omega0_table(_unknown_omega0(fits, "omega0", 64), OMEGA0["omega0"])
    found["sines-bytes"] = bytes_table(fits, refined=True)
    found["sines-budget"] = budget_table(fits)
    found["sines-solved"] = solved_table(fits)
    found["sines-codes"] = code_table([run for run in results if int(run.configuration["width"]) >= WIDTH])
    return found


def evidence_tables(results: Sequence[RunResult]) -> dict[str, Table]:
    """The tables of the page of evidence."""
    every = merged(results)
    fits = [one for one in every if not is_first_run(one)]
    one_rate = [*of(fits, part="omega0", size=128), *of(fits, part="pictures", size=128, rate=2e-3)]
    return {
        "sines-omega0-means": omega0_means(_unknown_omega0(fits, "omega0", 64)),
        "sines-omega0-sound": omega0_table(_unknown_omega0(fits, "omega0 sound", 0.03), OMEGA0["omega0 sound"]),
        "sines-omega0-sound-means": omega0_means(_unknown_omega0(fits, "omega0 sound", 0.03)),
        "sines-omega0-one-rate": omega0_means([one for one in one_rate if len(of(one_rate, arm=one.arm)) > 1]),
        "sines-quantised": quantised_table(of(fits, part="pictures", size=128, rate=2e-3)),
        "sines-bytes-rounded": bytes_table(fits, refined=False),
        "sines-tones": part_table(TITLES["tones"], of(fits, part="tones")),
        "sines-small-shapes": part_table(TITLES["shapes"], of(fits, part="shapes", size=32)),
        "sines-small-grids": part_table(TITLES["grids"], of(fits, part="grids", size=64)),
        "sines-equations": part_table(TITLES["equations"], of(fits, part="equations")),
        "sines-told-equations": part_table(TITLES["told equations"], of(fits, part="told equations")),
        "sines-first-runs": first_runs([one for one in every if is_first_run(one)]),
    }


def bytes_table(fits: Sequence[Fits], *, refined: bool) -> Table:
    """Rounded matrices at equal bytes: a frozen sine's PSNR, and the differences of the other arms from it."""
    by_bits = {question.bits: question.among(fits, refined=refined) for question in BYTES}
    by_bits = {bits: found for bits, found in by_bits.items() if of(found, arm=FROZEN)}
    rows = []
    for arm in ARMS:
        cells, widths = [], []
        gains: Values = {}
        for bits, found in by_bits.items():
            (base,), own = of(found, arm=FROZEN), of(found, arm=arm)
            widths += [str(one.details["width"]) for one in own]
            some = gain(own[0].values, base.values) if own and arm != FROZEN else {}
            level = f"{base.mean:.2f} dB" if arm == FROZEN else ""
            cells.append(f"{mean_and_error(some)} ({won(some)})" if some else level)
            gains |= {(f"{name}, {bits} bits", seed): value for (name, seed), value in some.items()}
        if any(cells):
            rows.append([arm, ", ".join(dict.fromkeys(widths)), *cells, by_signal(gains)])
    sizes = {bits: of(found, arm=FROZEN)[0].bytes[str(bits)] / 1000 for bits, found in by_bits.items()}
    heads = [f"{bits} bits ({size:.2f} kB)" for bits, size in sizes.items()]
    return Table("Equal bytes", ["network", "width", *heads, "by picture and bits"], rows)


def budget_table(fits: Sequence[Fits]) -> Table:
    """Arms with one number of bytes, by bits: widths, means, and the best of each arm less the best frozen sine."""
    budget = Budget()
    cells, best = budget.cells(fits), {one.arm: one for one in budget.among(fits)}
    bits = sorted({bits for _, bits in cells})
    rows = []
    for arm, own in best.items():
        some = [cells.get((arm, bit)) for bit in bits]
        means = [f"{one.mean:.2f} dB (width {one.details['width']})" if one else "" for one in some]
        gains = gain(own.values, best[FROZEN].values) if FROZEN in best and arm != FROZEN else {}
        rows.append([arm, *means, mean_and_error(gains), by_signal(gains), won(gains)])
    columns = ["best over the best frozen sine", "by signal", "pairs won"]
    return Table("One number of bytes", ["network", *(f"{bit} bits" for bit in bits), *columns], rows)


def solved_table(fits: Sequence[Fits]) -> Table:
    """How many fits of the equations have an error below 10%, by what the first layer knows and by the rate."""
    known = {"highest known": of(fits, part="equations"), "all known": of(fits, part="told equations")}
    places = [(name, rate) for name, some in known.items() for rate in sorted({one.rate for one in some})]

    def cell(arm: str, name: str, rate: float) -> str:
        values = [value for one in of(known[name], arm=arm, rate=rate) for value in one.values.values()]
        return f"{sum(value > SOLVED for value in values)} of {len(values)}" if values else "not run"

    arms = [arm for arm in ARMS if any(of(some, arm=arm) for some in known.values())]
    rows = [[arm, *(cell(arm, *place) for place in places)] for arm in arms]
    return Table("Equations with an error below 10%", ["network", *(f"{n}, {rate:g}" for n, rate in places)], rows)


def first_runs(fits: Sequence[Fits]) -> Table:
    """Differences from the frozen sine of the narrow networks that ran first."""
    rows = []
    for one in sorted(fits, key=lambda one: (list(TITLES).index(one.part) if one.part in TITLES else 99, one.size)):
        gains = gain_of(one, fits)
        if gains:
            part = KNOWN if one.part == "told equations" else one.part
            what = [f"{part}, {one.size:g}" + (f", omega0 x{one.factor:g}" if one.factor != 1 else "")]
            rows.append([*what, one.arm, mean_and_error(gains), won(gains), str(one.base_width), f"{one.rate:g}"])
    columns = ["signals and size", "network", "over the frozen sine", "pairs won", "width", "rate"]
    return Table("First runs", columns, rows)


def _unknown_omega0(fits: Sequence[Fits], part: str, size: float) -> list[Fits]:
    """The fits of each factor, each arm at the rate of its own search."""
    return [one for one in of(fits, part=part, size=size) if one.searched]
