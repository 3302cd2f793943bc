"""One HTML file that holds a field and shows it: nothing fetched, every string escaped, only its own script allowed."""

from __future__ import annotations

import base64
import os
from importlib.resources import files
from pathlib import Path

from staf import __version__
from staf._documents import Document
from staf._files import atomic_write
from staf._page_policy import page_policy, text
from staf.export.describe import describe
from staf.export.meaning import Exportable, Meaning, meaning
from staf.viewer.payload import Payload, payload
from staf.viewer.views import words_of

SCRIPTS = (
    "field.js",
    "tables.js",
    "shaders.js",
    "runner.js",
    "engine.js",
    "wgsl.js",
    "webgpu.js",
    "painter.js",
    "dom.js",
    "gestures.js",
    "plane.js",
    "activations.js",
    "picture.js",
    "spectrum.js",
    "sound.js",
    "mesh.js",
    "rounding.js",
    "surface.js",
    "slices.js",
    "shape.js",
    "scene.js",
    "live.js",
    "main.js",
)


def export_html(field: Exportable, path: str | os.PathLike[str], *, half: bool = False) -> Path:
    """Write a field as one HTML page that evaluates it live; `half` stores large matrices as float16, at half the size.

    >>> import numpy as np, staf, tempfile
    >>> fit = staf.fit(np.zeros((4, 4), np.float32), field=staf.siren(2, 1, width=8), steps=1, progress=False)
    >>> export_html(fit.field, tempfile.mkdtemp() + "/picture.html").read_text().startswith("<!DOCTYPE html>")
    True
    """
    atomic_write(path, page(field, half=half))
    return Path(path)


def page(field: Exportable, *, half: bool = False, served: bool = False) -> str:
    """The page's text; one that is `served` holds no network, and asks its server for it."""
    graph, meant = describe(field.module), meaning(field)
    held = payload(graph, meant, half=half)
    style, script = asset("style.css"), joined_script()
    return asset("page.html").format(
        policy=policy(style, script, connect=served),
        title=text(meant.name),
        label=text(f"{meant.kind} {meant.name}: drag to move, scroll to zoom, arrow keys and + - work too"),
        summary=text(_summary(field, meant)),
        style=style,
        facts=_facts(field, meant, held, half=half),
        # Inside a script element only "<" can end it.
        description="" if served else held.text().replace("<", "\\u003c"),
        numbers="" if served else base64.b64encode(held.numbers).decode("ascii"),
        promise="" if served else "The network is inside this page. The page loads nothing and sends nothing.",
        script=script,
    )


def joined_script() -> str:
    """All scripts as one, in a scope of its own."""
    return '(() => {\n"use strict";\n' + "\n".join(asset(name) for name in SCRIPTS) + "})();\n"


def asset(name: str) -> str:
    """A template of this room, as text."""
    return files(__package__).joinpath("assets", name).read_text("utf-8")


def policy(style: str, script: str, *, connect: bool = False) -> str:
    """A content security policy under which only this style and this script work, and nothing is loaded but, with
    `connect`, what the page's own server has."""
    return page_policy(style, script, "img-src data: blob:", *(["connect-src 'self'"] if connect else []))


def _network(field: Exportable) -> str:
    architecture = getattr(field.module, "architecture", None) or field.metadata.get("architecture") or {}
    return str(architecture.get("name", type(field.module).__name__)).upper().replace("_", " ")


def _parameters(field: Exportable) -> str:
    return f"{sum(parameter.numel() for parameter in field.module.parameters()):,} parameters"


def _summary(field: Exportable, meant: Meaning) -> str:
    network = f"{_network(field)} network of {_parameters(field)}"
    return f"{words_of(meant)}, held by a {network}" if meant.shape else network


def _facts(field: Exportable, meant: Meaning, held: Payload, *, half: bool) -> str:
    metrics = field.metadata.get("metrics") or {}
    facts: Document = {
        "Network": f"{_network(field)}, {_parameters(field)}",
        **({"Fitted to": words_of(meant)} if meant.shape else {}),
        "Stored as": f"{'float16 and float32' if half else 'float32'}, {len(held.numbers) / 1e3:,.0f} kB",
        **{name: f"{value:.4g}" for name, value in metrics.items() if isinstance(value, int | float)},
        "Written by": f"staf {__version__}",
    }
    return "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in facts.items())
