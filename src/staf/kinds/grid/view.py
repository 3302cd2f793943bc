"""How grids are shown: lines of a trace, slices of a volume, channels of a plane."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from staf._documents import Entries
from staf.kinds.formats import recognise
from staf.kinds.grid.files import SUFFIX
from staf.kinds.grid.samples import has_channels
from staf.kinds.grid.signal import Grid
from staf.reports.charts import binned
from staf.reports.embedding import error_levels, error_scale, error_uri, picture_uri, reduced, round_ceiling
from staf.reports.svg import Chart, padded
from staf.reports.text import text
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.view import View

# Slices, or channels of a trace, that a report shows at most.
MOST_SHOWN = 6
LARGEST_SIDE = 512
LINE_BINS = 480


class Slice(NamedTuple):
    """One picture of a grid: what it shows, and its samples (h, w) of target and reconstruction."""

    title: str
    target: np.ndarray
    reconstruction: np.ndarray


class GridView(View[Grid]):
    """What is shown of a grid."""

    noun = "grid"

    @property
    def suffix(self) -> str:
        return SUFFIX

    def suffixes(self) -> tuple[str, ...]:
        return (SUFFIX,)

    def report_section(self, reconstruction: Grid) -> str:
        """Lines for one axis; otherwise middle slices, or channels, of target, reconstruction and error."""
        if reconstruction.shape != self.signal.shape:
            return ""
        if self.signal.in_features == 1:
            return self._lines(reconstruction)
        figures, ceiling, largest = self._pictures(list(slices(self.signal, reconstruction)))
        explained = "Middle slices of the grid" if self.signal.in_features > 2 else "Channels of the grid"
        rows = "".join(
            f'<h3>{text(title)}</h3><div class="slices">'
            + "".join(
                f'<figure><img src="{uri}" alt="{name}: {text(title)}">'
                f'<figcaption class="fine">{name}</figcaption></figure>'
                for name, uri in uris.items()
            )
            + "</div>"
            for title, uris in figures
        )
        scale = f'{error_scale(ceiling)}<p class="fine">The largest error shown is {largest:.3g} of the range.</p>'
        return (
            f'<section><h2>Look closer</h2><p class="explain">{explained}, black at the lowest value of all and white '
            f"at the highest.</p>{rows}{scale}</section>"
        )

    def notebook_figures(self, reconstruction: Grid) -> str:
        """The first slice: target, reconstruction and error beside each other."""
        if reconstruction.shape != self.signal.shape or self.signal.in_features == 1:
            return ""
        ((title, uris),), _, _ = self._pictures([next(slices(self.signal, reconstruction))])
        figures = "".join(
            '<figure style="margin:0;width:256px;flex:0 1 256px;min-width:0">'
            f'<img src="{uri}" alt="{name}" style="display:block;width:100%;image-rendering:pixelated"><figcaption>'
            f"{name}, {text(title)}</figcaption></figure>"
            for name, uri in uris.items()
        )
        return f'<div style="display:flex;gap:12px;margin-top:8px">{figures}</div>'

    def _pictures(self, shown: list[Slice]) -> tuple[list[tuple[str, dict[str, str]]], float, float]:
        """The pictures of each slice by name, the error of the brightest colour, and the largest error."""
        low, high = self.signal.value_range

        def scaled(part: np.ndarray) -> np.ndarray:
            return (part.astype(np.float32) - np.float32(low)) / np.float32(high - low)

        errors = [np.abs(scaled(each.reconstruction) - scaled(each.target)) for each in shown]
        ceiling = round_ceiling(max(float(np.quantile(error, 0.999)) for error in errors))
        figures = []
        for each, error in zip(shown, errors, strict=True):
            factor = math.ceil(max(error.shape) / LARGEST_SIDE)
            parts = [reduced(scaled(part)[..., None], factor) for part in (each.target, each.reconstruction)]
            target, fitted = (picture_uri(np.rint(255 * np.clip(part, 0, 1)).astype(np.uint8)) for part in parts)
            levels = error_levels(reduced(error[..., None], factor)[..., 0], ceiling)
            figures.append((each.title, {"Target": target, "Reconstruction": fitted, "Error": error_uri(levels)}))
        return figures, ceiling, max(float(error.max()) for error in errors)

    def _lines(self, reconstruction: Grid) -> str:
        """For each of the first channels: target and reconstruction in one chart, and the error below."""
        low, high = self.signal.value_range
        count = min(self.signal.out_features, MOST_SHOWN)
        charts = []
        for channel in range(count):
            target = self.signal.array[:, channel].astype(np.float64)
            fitted = reconstruction.array[:, channel].astype(np.float64)
            name = f"Channel {channel + 1}" if self.signal.out_features > 1 else "Samples"
            overlay = _chart(name, {"after": fitted, "before": target})
            error = _chart(f"{name}, error", {"after": fitted - target})
            charts.append(f"<figure><h3>{name}</h3>{overlay}</figure><figure><h3>Error</h3>{error}</figure>")
        worst = float(np.abs(reconstruction.array.astype(np.float64) - self.signal.array).max()) / (high - low)
        key = (
            '<span><svg viewBox="0 0 28 12"><path class="line before" d="M0 6H28"/></svg>target</span>'
            '<span><svg viewBox="0 0 28 12"><path class="line after" d="M0 6H28"/></svg>reconstruction</span>'
        )
        more = (
            "" if count == self.signal.out_features else f" The first {count} of {self.signal.out_features} channels."
        )
        return (
            '<section><h2>Look closer</h2><p class="explain">Mean and range of neighbouring samples where there are '
            f"many.{more} The largest error is {worst:.3g} of the range.</p>"
            f'<p class="key">{key}</p><div class="waves">{"".join(charts)}</div></section>'
        )

    def command_options(self, metadata: Entries) -> list[str] | None:
        """None where the command would read the file as another kind."""
        source = Path(str(self.signal.source))
        with source.open("rb") as file:
            format = recognise(file, source.suffix)
        if format is None or format.kind != self.signal.kind:
            return None
        return [] if self._by_rule() else ["--channels", "last" if self.signal.has_channels else "none"]

    def python(self, metadata: Entries) -> str:
        if self.signal.source is None:
            return "your_signal"
        opened = f"staf.open({self.signal.source!r}, kind={self.signal.kind!r})"
        return opened if self._by_rule() else f"{opened}.with_channels({self.signal.has_channels})"

    def _by_rule(self) -> bool:
        """Whether the shape alone says which axis holds the channels."""
        shape, channels = self.signal.shape, self.signal.out_features
        whole = (*shape, channels) if self.signal.has_channels else shape
        return has_channels(whole, None)[0] == self.signal.has_channels

    def render_points(self, how: Entries, convention: Convention) -> int:
        return math.prod(self.signal.output_grid(convention=convention, **how).shape)

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        self.signal.render_file(predict, path, convention=convention, device=device, **how)
        shape = self.signal.output_grid(convention=convention, **how).shape
        return {f"axis {number}": size for number, size in enumerate(shape)}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        return f"{'x'.join(str(n) for n in size.values())} samples"


def slices(target: Grid, reconstruction: Grid) -> Iterator[Slice]:
    """Planes worth seeing: each channel of a plane, the middle plane across each of the last three axes of a volume.

    >>> volume = Grid(np.zeros((4, 6, 8), np.uint8), channels=False)
    >>> [(each.title, each.target.shape) for each in slices(volume, volume)]
    [('axis 0 at 2', (6, 8)), ('axis 1 at 3', (4, 8)), ('axis 2 at 4', (4, 6))]
    """
    axes = target.in_features
    several = target.out_features > 1
    cuts: list[tuple[str, tuple[int | slice, ...]]] = [("the whole plane", (slice(None),) * 2)]
    if axes > 2:
        # A fourth axis, usually time, is cut in its middle first.
        before = tuple(target.shape[axis] // 2 for axis in range(axes - 3))
        said = "".join(f"axis {axis} at {at}, " for axis, at in enumerate(before))
        cuts = []
        for axis in range(axes - 3, axes):
            at = target.shape[axis] // 2
            rest = tuple(at if other == axis else slice(None) for other in range(axes - 3, axes))
            cuts.append((f"{said}axis {axis} at {at}", (*before, *rest)))
    every = [(title, cut, channel) for channel in range(target.out_features) for title, cut in cuts]
    for title, cut, channel in every[:MOST_SHOWN]:
        name = f"channel {channel + 1}" if several and axes == 2 else title
        name += f", channel {channel + 1}" if several and axes > 2 else ""
        index = (*cut, channel)
        yield Slice(name, np.asarray(target.array[index]), np.asarray(reconstruction.array[index]))


def _chart(label: str, lines: dict[str, np.ndarray]) -> str:
    """Lines (n,) by class against the index of the sample."""
    size = len(next(iter(lines.values())))
    chart = Chart(
        960, 150, (0.0, float(max(size, 2))), padded(np.concatenate(list(lines.values()))), "sample", "", label, ticks=4
    )
    for name, values in lines.items():
        middle, low, mean, high = binned(values, LINE_BINS)
        if size > LINE_BINS:
            chart.band(middle + 0.5, low, high, name)
        chart.line(middle + 0.5, mean, name)
    return chart.render()
