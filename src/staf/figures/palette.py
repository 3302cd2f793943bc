"""The one palette of figures and reports: colours that colour-blind readers can tell apart."""

from __future__ import annotations

import numpy as np

# Okabe and Ito's colours; dashes repeat the distinction for those who see none of it.
BLUE, RED, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (8, 2)),
    (0, (2, 2)),
)
# Networks that are often drawn together; each has the same line in every figure.
NETWORKS = ("staf", "siren", "finer", "gauss", "wire", "incode", "mfn", "ffn", "pemlp", "relu", "kan", "ngp")
BEFORE, AFTER, INPUTS = RED, BLUE, "#C9CFD6"
# The same on a dark page.
DARK_BEFORE, DARK_AFTER, DARK_INPUTS = "#F0A03C", "#5DB8F0", "#3A434D"

# Errors go from dark to light in one direction: matplotlib's inferno, by name for figures, and by ten of its colours
# for pages (by Nathaniel Smith and Stefan van der Walt, CC0).
ERROR_MAP = "inferno"
ERROR_ANCHORS = ("000004", "1b0c41", "4a0c6b", "781c6d", "a52c60", "cf4446", "ed6925", "fb9b06", "f7d13d", "fcffa4")


def line_number(title: str, index: int) -> int:
    """The line of what is drawn as number `index`: that of its network, where the title begins with one's name.

    >>> line_number("siren  31.2 dB", 0), line_number("a network of mine", 4)
    (1, 4)
    """
    name = title.split()[0].lower() if title.split() else ""
    return NETWORKS.index(name) if name in NETWORKS else index


def _error_colours() -> np.ndarray:
    """The scale of errors as 256 colours (256, 3) of 8 bits."""
    anchors = np.array([[int(code[i : i + 2], 16) for i in (0, 2, 4)] for code in ERROR_ANCHORS], np.float64)
    at = np.linspace(0, len(anchors) - 1, 256)
    columns = [np.interp(at, np.arange(len(anchors)), anchors[:, channel]) for channel in range(3)]
    return np.stack(columns, axis=1).round().astype(np.uint8)


ERROR_COLOURS = _error_colours()


def as_css() -> str:
    """The palette as variables of a style sheet, for light and dark pages.

    >>> as_css().splitlines()[0]
    ':root { --before: #D55E00; --after: #0072B2; --inputs: #C9CFD6; }'
    """
    dark = f"--before: {DARK_BEFORE}; --after: {DARK_AFTER}; --inputs: {DARK_INPUTS};"
    return (
        f":root {{ --before: {BEFORE}; --after: {AFTER}; --inputs: {INPUTS}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )
