"""Line charts as inline SVG: no library, no script, coloured by the page's own style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from staf.reports.text import text

Values = Sequence[float] | np.ndarray


@dataclass
class Chart:
    """A frame with axes, in which marks are drawn from data coordinates.

    >>> chart = Chart(240, 160, (0, 10), (0, 1), "step", "loss", label="a falling line")
    >>> chart.line([0, 10], [1, 0], "after")
    >>> chart.render().startswith('<svg viewBox="0 0 240 160" role="img" aria-label="a falling line">')
    True
    """

    width: int
    height: int
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    label: str = ""
    left: int = 46
    right: int = 10
    top: int = 10
    bottom: int = 38
    ticks: int = 5
    marks: list[str] = field(default_factory=list)

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom)

    def line(self, xs: Values, ys: Values, name: str) -> None:
        """A polyline of class `name`; points that are not finite break it."""
        self.marks.append(f'<path class="line {text(name)}" d="{self._path(xs, ys)}"/>')

    def band(self, xs: Values, lows: Values, highs: Values, name: str) -> None:
        """The area between two lines."""
        points = [*zip(xs, lows, strict=True), *reversed(list(zip(xs, highs, strict=True)))]
        kept = [(x, y) for x, y in points if math.isfinite(y)]
        if kept:
            self.marks.append(f'<path class="area {text(name)}" d="{self._path(*zip(*kept, strict=True))}Z"/>')

    def dot(self, x: float, y: float, caption: str, name: str) -> None:
        """One point with words above it, on the side where there is room."""
        at_x, at_y = self.x(x), self.y(y)
        right = at_x < self.width * 0.6
        anchor, shift = ("start", 8) if right else ("end", -8)
        self.marks.append(
            f'<circle class="dot {text(name)}" cx="{at_x:.1f}" cy="{at_y:.1f}" r="4"/>'
            f'<text class="note" x="{at_x + shift:.1f}" y="{at_y - 10:.1f}" text-anchor="{anchor}">'
            f"{text(caption)}</text>"
        )

    def render(self) -> str:
        right, floor = self.width - self.right, self.height - self.bottom
        parts = [f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{text(self.label)}">']
        for tick in tick_values(*self.y_range, self.ticks):
            at = self.y(tick)
            parts.append(f'<path class="grid" d="M{self.left} {at:.1f}H{right}"/>')
            parts.append(f'<text x="{self.left - 6}" y="{at + 4:.1f}" text-anchor="end">{tick_text(tick)}</text>')
        for tick in tick_values(*self.x_range, self.ticks):
            parts.append(f'<text x="{self.x(tick):.1f}" y="{floor + 16}" text-anchor="middle">{tick_text(tick)}</text>')
        parts.append(f'<path class="axis" d="M{self.left} {floor}H{right}"/>')
        middle = (self.left + right) / 2
        parts.append(
            f'<text class="name" x="{middle}" y="{self.height - 5}" text-anchor="middle">{text(self.x_label)}</text>'
        )
        if self.y_label:
            centre = (self.top + floor) / 2
            parts.append(
                f'<text class="name" transform="translate(12 {centre}) rotate(-90)" text-anchor="middle">'
                f"{text(self.y_label)}</text>"
            )
        return "".join([*parts, *self.marks, "</svg>"])

    def _path(self, xs: Values, ys: Values) -> str:
        words, pen = [], "M"
        for x, y in zip(xs, ys, strict=True):
            if not math.isfinite(y):
                pen = "M"
                continue
            words.append(f"{pen}{self.x(x):.1f} {self.y(y):.1f}")
            pen = "L"
        return "".join(words)


def tick_values(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers in [low, high].

    >>> tick_values(0, 43, 5)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(k * step) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    """A tick's number, thousands shortened.

    >>> tick_text(20000.0), tick_text(0.1 + 0.2), tick_text(-5.0)
    ('20k', '0.3', '−5')
    """
    if abs(value) >= 1_000_000:
        shown = f"{value / 1_000_000:.4g}M"
    elif abs(value) >= 10_000:
        shown = f"{value / 1000:.4g}k"
    else:
        shown = f"{value:.4g}"
    return shown.replace("-", "−")


def padded(values: np.ndarray, share: float = 0.06) -> tuple[float, float]:
    """The range of the finite values with some air around it, never empty.

    >>> padded(np.array([0.0, 10.0]), 0.1)
    (-1.0, 11.0)
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    air = (high - low) * share or max(1.0, abs(low) * share)
    return low - air, high + air
