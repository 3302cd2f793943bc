"""Tables of a full suite: every record with its rates and its floor, and the marks."""

from __future__ import annotations

from typing import Any

from benchmarks.targets import TARGETS, standing
from staf._tables import Table
from staf.benchmarking.report import COLUMNS, cells, conditions, heading, three_figures


def full_table(document: dict[str, Any]) -> Table:
    """Every record: time, ratio to the released form in the same run (also of processor time), memory, rates, floor."""
    rows = []
    for record in document["records"]:
        fraction = record.get("floor_fraction")
        rates = (three_figures(record.get("tflop_s")), three_figures(record.get("gb_s")))
        rows.append((*cells(record), *rates, "-" if fraction is None else f"{100 * fraction:.0f}%"))
    return Table("Milliseconds per step, pass or image", (*COLUMNS, "TFLOP/s", "GB/s", "of the floor"), rows)


def targets_table(document: dict[str, Any]) -> Table | None:
    """How the run compares with the marks of its suite; None if it has none."""
    rows = []
    for target in TARGETS.get(document["suite"], []):
        found = standing(target, document["records"])
        if found is not None:
            bound = "at most" if target.most else "at least"
            mark = f"{bound} {target.mark:g} {target.unit}"
            value = f"{three_figures(found.value)} {target.unit}"
            rows.append((target.what, mark, value, found.version, "yes" if found.reached else "no"))
    return Table("Marks", ("what", "mark", "measured", "by", "reached"), rows) if rows else None


def to_markdown(document: dict[str, Any]) -> str:
    """The whole document for people."""
    rates = document["rates"]
    parts = [f"{name} {flops / 1e12:.3g} TFLOP/s" for name, flops in rates["matmul_flops"].items()]
    parts.append(f"copy {rates['copy_bytes'] / 1e9:.4g} GB/s")
    if rates["sines"]:
        kind = "hardware sines" if document["machine"]["gpu"] else "sines of a series"
        parts.append(f"{rates['sines'] / 1e9:.4g} G {kind} per second")
    lines = [*heading(document), f"Measured rates: {', '.join(parts)}.", *conditions(document)]
    marks = targets_table(document)
    tables = [table.to_markdown() for table in (marks, full_table(document)) if table is not None]
    return "\n".join(lines) + "\n" + "\n".join(tables)
