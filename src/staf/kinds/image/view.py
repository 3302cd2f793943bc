"""How images are shown: a magnifier in the report, pictures in notebooks, pixels in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries
from staf.kinds.image.pictures import Pictures, Place, pictures
from staf.kinds.image.signal import Image
from staf.kinds.image.writing import FORMATS
from staf.metrics import lpips, psnr
from staf.metrics.lpips import load_lpips
from staf.reports.embedding import error_scale
from staf.reports.text import text
from staf.signals.grid import Convention
from staf.signals.rendering import Predict, output_grid
from staf.signals.value_transform import value_transform
from staf.signals.view import View
from staf.training.history import decibels

LPIPS_PIXELS = 2**24
PANES = (("target", "Target"), ("reconstruction", "Reconstruction"), ("error", "Error"))


class ImageView(View[Image]):
    """What is shown of an image."""

    noun = "picture"

    @property
    def suffix(self) -> str:
        """PNG for integers; floats stay in the NPY they came from, or become TIFF.

        >>> import numpy as np
        >>> [Image(np.zeros((2, 2), dtype)).view.suffix for dtype in ("uint8", "uint16", "float32")]
        ['.png', '.png', '.tiff']
        """
        if self.signal.dtype.kind != "f":
            return ".png"
        return ".npy" if str(self.signal.source or "").lower().endswith(".npy") else ".tiff"

    def suffixes(self) -> tuple[str, ...]:
        return tuple(FORMATS)

    def report_section(self, reconstruction: Image) -> str:
        """Target, reconstruction and error side by side, with a magnifier that moves over all three at once."""
        if reconstruction.shape != self.signal.shape:
            return ""
        seen = pictures(self.signal, reconstruction)
        return look_closer(seen)

    def notebook_figures(self, reconstruction: Image) -> str:
        """Target, reconstruction and error beside each other."""
        if reconstruction.shape != self.signal.shape:
            return ""
        seen = pictures(self.signal, reconstruction)
        return notebook_row(seen)

    def picture(self, reconstruction: Image | None = None) -> np.ndarray:
        return (reconstruction or self.signal).array

    def baseline(self) -> tuple[str, float] | None:
        if self.signal.points > LPIPS_PIXELS:
            return None
        fitted = value_transform(self.signal).fitted(self.signal.values()).double()
        return "the mean colour", decibels(float((fitted - fitted.mean(0)).square().mean()))

    def more_measures(
        self, predict: Predict, convention: Convention, saved: Path | None
    ) -> dict[str, Callable[[], float]]:
        """LPIPS, and the PSNR of the file at `saved`, read back: rounding to the image's bit depth included."""
        more: dict[str, Callable[[], float]] = {"lpips": lambda: self._lpips(predict, convention)}
        if saved is not None:
            more["psnr_of_file"] = lambda: self._file_psnr(saved)
        return more

    def page(self, convention: Convention) -> Document:
        return {"type": "picture", "colours": True}

    def finish_work(self) -> tuple[str, int]:
        return f"all {self.signal.points:,} pixels are computed once more", self.signal.points

    def render_points(self, how: Entries, convention: Convention) -> int:
        width, height = output_size(self.signal.shape, how, convention)
        return width * height

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        self.signal.render_file(predict, path, convention=convention, device=device, **how)
        width, height = output_size(self.signal.shape, how, convention)
        return {"width": width, "height": height}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        return f"{size['width']}x{size['height']} pixels"

    def _file_psnr(self, saved: Path) -> float:
        from staf.kinds import open as open_signal

        image = open_signal(saved, kind=Image.kind)
        if image.shape != self.signal.shape:
            raise ValueError(f"the saved image is {image.width}x{image.height}, another size than the target's")
        return float(psnr(image.values(), self.signal.values(), data_range=self.signal.value_range))

    def _lpips(self, predict: Predict, convention: Convention) -> float:
        image = self.signal
        if image.out_features not in (1, 3):
            raise ValueError("LPIPS is defined for grey and RGB, and this image has alpha")
        if image.points > LPIPS_PIXELS:
            raise ValueError(f"not measured above {LPIPS_PIXELS // 10**6} megapixels")
        # The weights first: without them there is no use in a pass over all points, which takes minutes for a large
        # photo.
        model = load_lpips()
        target = image.values().reshape(image.height, image.width, -1)
        with torch.no_grad():
            prediction = float_prediction(image, predict, convention)
            return float(lpips(prediction, target, data_range=image.value_range, model=model))


def look_closer(seen: Pictures) -> str:
    """The report's section with target, reconstruction and error side by side, under one magnifier."""
    choices = ""
    if len(seen.views) > 1:
        buttons = "".join(
            f'<label class="choice"><input type="radio" name="view" value="{i}"{" checked" if i == 0 else ""}>'
            f"<span>{text(place.title)}</span></label>"
            for i, place in enumerate(seen.views)
        )
        choices = f"<fieldset><legend>What to look at</legend>{buttons}</fieldset>"
    details = "".join(
        f'<span data-detail="{i}"{"" if i == 0 else " hidden"}>{text(place.title)}, {text(place.detail)}.</span>'
        for i, place in enumerate(seen.views)
    )
    panes = "".join(_pane(part, title, seen.views, index == 0) for index, (part, title) in enumerate(PANES))
    lenses = "".join(
        f'<figure class="lens"><figcaption><span>{title}<i>, magnified</i></span></figcaption>'
        f'<canvas width="300" height="300" role="img" aria-label="{title} under the magnifier"></canvas></figure>'
        for _, title in PANES
    )
    return (
        '<section><h2>Look closer</h2><p class="explain">Drag the frame or tap on any picture, or focus one and '
        f"use the arrow keys (with Shift for larger steps) and + or −. {details}</p>"
        f'<div class="controls">{choices}<label class="magnify">Magnify '
        '<input type="range" min="2" max="48" value="6" step="1"><output>6×</output></label></div>'
        f'<div class="stage">{panes}{lenses}</div><p class="readout" role="status"></p>{_scale(seen)}</section>'
    )


def notebook_row(seen: Pictures) -> str:
    """Target, reconstruction and error of the first view beside each other."""
    whole = seen.views[0]
    figures = "".join(
        '<figure style="margin:0;width:256px;flex:0 1 256px;min-width:0">'
        f'<img src="{source}" alt="{name}" style="display:block;width:100%;image-rendering:pixelated"><figcaption>'
        f"{name}</figcaption></figure>"
        for name, source in (
            ("target", whole.target),
            ("reconstruction", whole.reconstruction),
            (f"error, 0 to {seen.ceiling:.2g}", whole.error),
        )
    )
    return f'<div style="display:flex;gap:12px;margin-top:8px">{figures}</div>'


def float_prediction(image: Image, predict: Predict, convention: Convention = "centres") -> Tensor:
    """A field at every pixel, (h, w, c), in the image's units and not rounded."""
    low, high = image.value_range
    values = predict(image.coordinates(convention)).clamp(low, high)
    return values.float().cpu().reshape(*image.shape, -1)


def output_size(shape: tuple[int, ...], how: Entries, convention: Convention) -> tuple[int, int]:
    """Width and height of a rendering with the arguments `how`.

    >>> output_size((4, 6), {"scale": 2}, "centres")
    (12, 8)
    """
    where = {name: how[name] for name in ("crop", "size", "scale") if name in how}
    rows, columns = output_grid((shape[0], shape[1]), convention=convention, **where).shape
    return columns, rows


def _pane(part: str, title: str, places: list[Place], first: bool) -> str:
    images = "".join(
        f'<img data-view="{i}" src="{getattr(place, part)}" width="{place.width}" height="{place.height}" '
        f'alt="{title}: {text(place.title)}"{"" if i == 0 else " hidden"}>'
        for i, place in enumerate(places)
    )
    return (
        f'<figure class="pane{" first" if first else ""}"><figcaption>{title}</figcaption>'
        f'<div class="holder" tabindex="0" role="group" aria-label="{title}: arrow keys move the magnifier">{images}'
        '<div class="frame"></div></div></figure>'
    )


def _scale(seen: Pictures) -> str:
    return (
        f'{error_scale(seen.ceiling, 255)}<p class="readout">Error of a pixel: root mean square over its channels; the '
        f"largest is {seen.largest:.3g} of the range.</p>"
    )
