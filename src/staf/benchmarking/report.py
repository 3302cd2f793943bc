"""Tables of a benchmark document."""

from __future__ import annotations

from staf._documents import Document
from staf._tables import Table

COLUMNS = ("case", "version", "ms", "spread", "ratio", "processor ratio", "GiB")


def summary_table(document: Document) -> Table:
    """Case, version, time and ratio: what fits a terminal."""
    rows = [
        (record["case"], record["version"], three_figures(record["ms"]), _times(record["ratio"]))
        for record in document["records"]
    ]
    return Table(
        "Milliseconds, and how many times faster than the released form", ("case", "version", "ms", "ratio"), rows
    )


def to_markdown(document: Document) -> str:
    """The machine, the gate and every record."""
    rows = [cells(record) for record in document["records"]]
    table = Table("Milliseconds per step or pass", COLUMNS, rows)
    return "\n".join([*heading(document), *conditions(document)]) + "\n" + table.to_markdown()


def heading(document: Document) -> list[str]:
    """The title, and a line with machine, versions, commit and date."""
    machine = document["machine"]
    where = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} of {machine['cores']} threads"
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items() if version)
    about = f"{where}. {versions}. Commit {document['commit']}. {document['date']}."
    return [f"# Benchmarks: {document['suite']}", "", about, ""]


def conditions(document: Document) -> list[str]:
    """The load, the gate, and whether the run was finished."""
    load = document.get("load")
    return [
        *([] if load is None else [f"Load as the run began: {load:.1f} on {document['machine']['cores']} cores."]),
        f"Gate: {len(document['gate']['checks'])} checks passed (seed {document['gate']['seed']}).",
        "",
        *([] if document["complete"] else ["The run was not finished.", ""]),
    ]


def cells(record: Document) -> tuple[str, ...]:
    """A record's row: time, ratio to the released form in the same run (also of processor time), memory."""
    return (
        record["case"],
        record["version"] + ("" if not record["notes"] else f" ({'; '.join(record['notes'])})"),
        three_figures(record["ms"]),
        _spread(record["ms_rounds"]),
        _times(record["ratio"]),
        _times(record["processor_ratio"]),
        three_figures(record["peak_gib"]),
    )


def three_figures(value: float | None) -> str:
    """A number for a table.

    >>> three_figures(16601.2), three_figures(0.4553), three_figures(None)
    ('16,601', '0.455', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def _spread(rounds: list[float]) -> str:
    """How far the slower round is above the faster."""
    if len(rounds) < 2:
        return "-"
    return f"{100 * (max(rounds) / min(rounds) - 1):.0f}%"
