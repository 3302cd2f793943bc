"""Tables of a benchmark document."""

from __future__ import annotations

from typing import Any

from staf._tables import Table
from staf.benchmarking.targets import TARGETS, standing

COLUMNS = ("case", "version", "ms", "spread", "ratio", "processor ratio", "GiB", "TFLOP/s", "GB/s", "of the floor")


def full_table(document: dict[str, Any]) -> Table:
    """Every record: time, ratio to the released form in the same run (also of processor time), memory, rates, floor."""
    rows = []
    for record in document["records"]:
        rows.append(
            (
                record["case"],
                record["version"] + ("" if not record["notes"] else f" ({'; '.join(record['notes'])})"),
                three_figures(record["ms"]),
                _spread(record["ms_rounds"]),
                _times(record["ratio"]),
                _times(record["processor_ratio"]),
                three_figures(record["peak_gib"]),
                three_figures(record.get("tflop_s")),
                three_figures(record.get("gb_s")),
                "-" if record.get("floor_fraction") is None else f"{100 * record['floor_fraction']:.0f}%",
            )
        )
    return Table("Milliseconds per step, pass or image", COLUMNS, rows)


def summary_table(document: dict[str, Any]) -> Table:
    """Case, version, time and ratio: what fits a terminal."""
    rows = [
        (
            record["case"],
            record["version"],
            three_figures(record["ms"]),
            _times(record["ratio"]),
        )
        for record in document["records"]
    ]
    return Table(
        "Milliseconds, and how many times faster than the released form", ("case", "version", "ms", "ratio"), rows
    )


def targets_table(document: dict[str, Any]) -> Table | None:
    """How the run stands against the marks of its suite; None where it has none."""
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
    machine, rates = document["machine"], document["rates"]
    where = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} of {machine['cores']} threads"
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items() if version)
    parts = [f"{name} {flops / 1e12:.3g} TFLOP/s" for name, flops in rates["matmul_flops"].items()]
    parts.append(f"copy {rates['copy_bytes'] / 1e9:.4g} GB/s")
    if rates["sines"]:
        kind = "hardware sines" if machine["gpu"] else "sines of a series"
        parts.append(f"{rates['sines'] / 1e9:.4g} G {kind} per second")
    load = document.get("load")
    lines = [
        f"# Benchmarks: {document['suite']}",
        "",
        f"{where}. {versions}. Commit {document['commit']}. {document['date']}.",
        "",
        f"Measured rates: {', '.join(parts)}.",
        *([] if load is None else [f"Load as the run began: {load:.1f} on {machine['cores']} cores."]),
        f"Gate: {len(document['gate']['checks'])} checks passed (seed {document['gate']['seed']}).",
        "",
        *([] if document["complete"] else ["The run was not finished.", ""]),
    ]
    marks = targets_table(document)
    tables = [table.to_markdown() for table in (marks, full_table(document)) if table is not None]
    return "\n".join(lines) + "\n" + "\n".join(tables)


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def three_figures(value: float | None) -> str:
    """A number for a table.

    >>> three_figures(16601.2), three_figures(0.4553), three_figures(None)
    ('16,601', '0.455', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _spread(rounds: list[float]) -> str:
    """How far the slower round is above the faster."""
    if len(rounds) < 2:
        return "-"
    return f"{100 * (max(rounds) / min(rounds) - 1):.0f}%"
