"""The parts of the report, each a function from a fit to HTML."""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from staf._documents import Document
from staf.figures.activations import ActivationCurves, activation_curves
from staf.reports import configuration as made
from staf.reports.charts import activation_chart, psnr_chart
from staf.reports.embedding import picture_uri, reduced
from staf.reports.measures import measured_over
from staf.reports.text import duration, number, text
from staf.signals import SignalError

if TYPE_CHECKING:
    from staf.api import Fit

# Pixels along the longer side of a result that is shown by itself.
LARGEST_SHOWN = 1024
LABELS = {
    "psnr": "PSNR",
    "ssim": "SSIM",
    "lpips": "LPIPS",
    "psnr_of_file": "PSNR, saved file",
    "iou": "IoU",
    "chamfer": "Chamfer",
    "normal_consistency": "Normals agree",
    "log_spectral_distance": "Log-spectral distance",
    "worst_frame_psnr": "PSNR, worst frame",
    "cloud_distance": "Distance to the points",
}
IN_DECIBELS = ("psnr", "worst_frame_psnr", "log_spectral_distance")


def heading(fit: Fit, view: str | None = None) -> str:
    """Name, kind and network, and a link to the page that shows the field."""
    network = _network(fit)
    if fit.signal is None:
        return f"<header><h1>Fit of a task</h1><p class='lead'>{text(network)}</p></header>"
    link = "" if view is None else f'<p class="lead"><a href="{text(view)}">Open in the viewer</a></p>'
    source = f", from <bdi>{text(_name(fit))}</bdi>" if _name(fit) else ""
    described = fit.reconstruction if _truth_is_unknown(fit) else fit.signal
    return (
        f"<header><h1><bdi>{text(fit.signal.name)}</bdi></h1>"
        f'<p class="lead">{text(described.view.describe())}{source}, fitted by {text(network)}</p>{link}</header>'
    )


def _network(fit: Fit) -> str:
    """The network's name, and that of its layers where it may have several kinds."""
    architecture = getattr(fit.module, "architecture", None)
    if not architecture:
        return type(fit.module).__name__
    layers = architecture["arguments"].get("activation")
    return f"{architecture['name']} of {layers} layers" if layers else str(architecture["name"])


def numbers(fit: Fit, measures: Document) -> str:
    """The measures as tiles, PSNR first; words where one has no number."""
    notes = measures.get("notes", {})
    first = "psnr" if fit.signal is None else fit.signal.view.main_measure
    main = next((name for name in (first, "psnr", *fit.metrics) if name in fit.metrics), "psnr")
    unit, digits = (" dB", 2) if main == "psnr" else ("", 4)
    tiles = [(label(main), number(_measure(measures, main), digits), unit, "main")]
    if "ssim" in measures:
        tiles.append(("SSIM", number(_measure(measures, "ssim"), 4), "", ""))
    if measures.get("lpips") is not None:
        tiles.append(("LPIPS", number(measures["lpips"], 4), "", ""))
    if "psnr_of_file" in measures:
        tiles.append(("PSNR, saved file", number(_measure(measures, "psnr_of_file"), 2), " dB", ""))
    known = {main, "ssim", "lpips", "psnr_of_file"}
    for name, value in measures.items():
        if name not in known and name in fit.metrics:
            in_decibels = name in IN_DECIBELS
            shown_value = number(value, 2) if in_decibels or value is None else f"{value:.{3 if value < 0.1 else 4}g}"
            tiles.append((label(name), shown_value, " dB" if in_decibels else "", ""))
    tiles += [
        ("Training", text(duration(fit.result.seconds)), "", ""),
        ("Steps", f"{fit.result.steps:,}", "", ""),
        ("Parameters", f"{sum(p.numel() for p in fit.module.parameters()):,}", "", ""),
    ]
    shown = "".join(
        f"<div{' class=main' if main_tile else ''}><dt>{text(name)}</dt><dd>{value}<small>{unit}</small></dd></div>"
        for name, value, unit, main_tile in tiles
    )
    words = [f"Measured with {measures['protocol']}."] if "protocol" in measures else []
    if fit.returned is not None:
        words.append(f"{fit.returned[0].upper()}{fit.returned[1:]}.")
    if _truth_is_unknown(fit):
        words.append("PSNR compares the fit with what was observed; without the truth, the result's error is unknown.")
    if measures.get("psnr_of_baseline") is not None:
        words.append(f"For scale: {measures['baseline']} alone has {measures['psnr_of_baseline']:.2f} dB.")
    words += [
        f"{label(name)}: {without_folders(note.split('. ')[0])}"
        for name, note in notes.items()
        if measures.get(name) is None and name != "psnr_of_baseline"
    ]
    remarks = "".join(f'<p class="fine">{text(word)}</p>' for word in words)
    return f'<dl class="numbers">{shown}</dl>{remarks}'


def label(measure: str) -> str:
    """What the report calls a measure.

    >>> label("iou"), label("relative_error")
    ('IoU', 'Relative error')
    """
    return LABELS.get(measure, measure.replace("_", " ").capitalize())


def look(fit: Fit) -> str:
    """Target and reconstruction side by side, as the kind of signal shows them; nothing for a task without a signal."""
    if fit.signal is None:
        return ""
    try:
        result = fit.reconstruction
    except SignalError as error:
        return (
            f'<section><h2>Look closer</h2><p class="explain">Nothing can be shown: {text(str(error))}.</p></section>'
        )
    try:
        return fit.signal.view.report_section(result)
    except SignalError:
        return _alone(fit)


def _alone(fit: Fit) -> str:
    """Only the result (of a volume its middle layer), for restorations whose truth is not known."""
    result, shown = fit.reconstruction, ""
    pixels = result.values().reshape(*result.shape, -1).numpy()
    while pixels.ndim > 3:
        pixels = pixels[len(pixels) // 2]
    if pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4):
        low, high = result.value_range
        small = reduced(pixels, math.ceil(max(pixels.shape[:2]) / LARGEST_SHOWN))
        eight = ((small - low) * (255 / (high - low or 1.0))).round().clip(0, 255).astype(np.uint8)
        shown = f'<figure class="alone"><img src="{picture_uri(eight)}" alt="The result"></figure>'
    return (
        '<section><h2>The result</h2><p class="explain">There is nothing to compare it with: the truth is '
        f"not known.</p>{shown}</section>"
    )


def training(fit: Fit) -> str:
    """The PSNR curve, and why training ended."""
    # The fit's own measure: the report's may be of a result that another method returned.
    final = fit.metrics.get("psnr")
    chart = psnr_chart(fit.history.psnr, final, measured_over(fit))
    reasons = "".join(f"<li>{text(reason)}</li>" for reason in made.reasons(fit))
    notes = "".join(f"<li>{text(note)}</li>" for note in fit.notes if note != fit.returned)
    remarks = f"<h3>Worth knowing</h3><ul>{notes}</ul>" if notes else ""
    against = " of the fit, against the truth" if getattr(fit.task, "truth", None) is not None else ""
    dot = "" if final is None else f"The dot is the final measure{against}. "
    return (
        '<section><div class="pair"><div><h2>Training</h2><p class="explain">Each step\'s batch before its update: '
        f"mean and range of neighbouring steps. {dot}Ended: {text(fit.stopped)}.</p>{chart}</div>"
        f"<div><h2>The plan, and why</h2><ul>{reasons}</ul>{remarks}</div></div></section>"
    )


def activations(fit: Fit) -> str:
    """Every activation before and after training, over the distribution of its inputs."""
    curves = activation_curves(fit.module, fit.start, in_features=fit.task.in_features)
    if not curves:
        return ""
    trained = any(curve.trained for curve in curves)
    charts = "".join(f"<figure><h3>{text(curve.name)}</h3>{activation_chart(curve)}</figure>" for curve in curves)
    key = '<span><svg viewBox="0 0 28 12"><path class="line after" d="M0 6H28"/></svg>after training</span>'
    if trained:
        key = '<span><svg viewBox="0 0 28 12"><path class="line before" d="M0 6H28"/></svg>before</span>' + key
    else:
        key = key.replace("after training", "fixed, not trained")
    key += '<span><svg viewBox="0 0 28 12"><path class="area inputs" d="M0 0H28V12H0Z"/></svg>its inputs</span>'
    table = _sinusoid_table(curves)
    return (
        '<section><h2>Activations</h2><p class="explain">What each layer computes, drawn where the central 99% of its '
        f'inputs lie.</p><p class="key">{key}</p><div class="layers">{charts}</div>{table}</section>'
    )


def settings(fit: Fit) -> str:
    """Network, recipe, versions and machine as tables."""
    architecture = getattr(fit.module, "architecture", None)
    network = {"module": type(fit.module).__name__}
    if architecture:
        network = {"model": architecture["name"], **architecture["arguments"]}
    recipe = {name: value for name, value in fit.recipe.to_plain().items() if value is not None}
    machine = {"device": made.device_name(fit.device), **made.versions()}
    return (
        '<section><h2>Settings</h2><div class="trio">'
        f"<div><h3>Network</h3>{_table(network)}</div>"
        f"<div><h3>Recipe</h3>{_table({'seed': fit.result.seed, **recipe})}</div>"
        f"<div><h3>Machine and versions</h3>{_table(machine)}</div></div></section>"
    )


def reproduce(fit: Fit) -> str:
    """The command and the Python that make this fit again."""
    line = _own(fit, made.command(fit))
    words = "Run the command or the program that made it once more: no <code>staf fit</code> repeats it."
    shell = _code(line) if line else f'<p class="explain">{words}</p>'
    clock = ""
    if fit.recipe.seconds is not None:
        clock = (
            '<p class="explain">The schedule followed the clock, so another run ends near these numbers and not at '
            "them; give steps in place of seconds for the same bits.</p>"
        )
    return (
        f"<section><h2>Make it again</h2>{clock}{shell}"
        "<details><summary>In Python, every constant spelled out</summary>"
        f"<div>{_code(str(_own(fit, made.python(fit))))}</div></details></section>"
    )


def without_folders(words: str) -> str:
    """A sentence with the names of files alone: where they are on this machine should not be shared.

    >>> without_folders("there are no weights at '/home/me/.cache/w.bin'")
    "there are no weights at 'w.bin'"
    """
    return re.sub(r"(?<![\w.:])(?:/|[A-Za-z]:\\)(?:[^\s'\"/\\]+[/\\])+", "", words)


def _truth_is_unknown(fit: Fit) -> bool:
    """Whether the task restores something of which only observations are known, and is measured by them."""
    return "psnr" in fit.metrics and hasattr(fit.task, "truth") and fit.task.truth is None


def _name(fit: Fit) -> str:
    """The name of the file that was fitted."""
    source = getattr(fit.signal, "source", None)
    return re.split(r"[/\\]", str(source))[-1] if source else ""


def _own(fit: Fit, code: str | None) -> str | None:
    """A command that names the file without its folders, where the whole path would say where it lies."""
    source = str(getattr(fit.signal, "source", None) or "")
    if code is None or not PurePath(source).is_absolute():
        return code
    return code.replace(source, _name(fit))


def _sinusoid_table(curves: list[ActivationCurves]) -> str:
    rows = []
    for curve in curves:
        if curve.sinusoids_after is None:
            continue
        before = curve.sinusoids_before
        for i in range(len(curve.sinusoids_after[0])):
            cells = "".join(
                f"<td>{_arrow(None if before is None else before[part][i], curve.sinusoids_after[part][i])}</td>"
                for part in range(3)
            )
            rows.append(f"<tr><td>{text(curve.name)}</td><td>{i + 1}</td>{cells}</tr>")
    if not rows:
        return ""
    head = "<tr><th>layer</th><th>term</th><th>amplitude C</th><th>frequency Ω</th><th>phase Φ</th></tr>"
    return (
        "<details><summary>The sinusoids in numbers</summary>"
        f'<div class="wide"><table>{head}{"".join(rows)}</table></div></details>'
    )


def _arrow(before: np.floating | None, after: np.floating) -> str:
    return f"{after:.3f}" if before is None or before == after else f"{before:.3f} → {after:.3f}"


def _table(rows: Document) -> str:
    return (
        "<table>"
        + "".join(f"<tr><th>{text(k)}</th><td>{text(_in_words(v))}</td></tr>" for k, v in rows.items())
        + "</table>"
    )


def _in_words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_in_words(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_in_words(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _code(code: str) -> str:
    return f'<div class="code"><pre>{text(code)}</pre><button type="button">Copy</button></div>'


def _measure(measures: Document, name: str) -> float | None:
    """A measure as a number: those that JSON cannot hold are infinite."""
    value = measures.get(name)
    if value is None and "infinite" in measures.get("notes", {}).get(name, ""):
        return float("inf")
    return value
