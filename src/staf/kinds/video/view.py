"""How videos are shown: some frames under a magnifier, and the PSNR of every frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from staf._documents import Entries
from staf.kinds.image.pictures import Pictures, views_of
from staf.kinds.image.view import look_closer, notebook_row
from staf.kinds.video.formats import ARRAYS, FILMS, PICTURES
from staf.kinds.video.measures import decibels, square_error
from staf.kinds.video.options import film_suffix
from staf.kinds.video.reading import WHOLE
from staf.kinds.video.signal import Video
from staf.reports.charts import binned
from staf.reports.svg import Chart, padded
from staf.signals.grid import Convention
from staf.signals.rendering import Predict
from staf.signals.view import View

# Frames that a report shows, spread evenly over all.
MOST_SHOWN = 6
# Equal frames are drawn at the PSNR of a perfect copy, rounded to bytes.
HIGHEST = 99.0


class VideoView(View[Video]):
    """What is shown of a video."""

    noun = "video"

    @property
    def suffix(self) -> str:
        """MP4, or NPY where PyAV is not installed: the colours of a GIF are too few to keep."""
        suffix = film_suffix()
        return suffix if suffix == ".mp4" else ARRAYS[0]

    def suffixes(self) -> tuple[str, ...]:
        return (*FILMS, *ARRAYS)

    def rendered_suffixes(self) -> tuple[str, ...]:
        return (*self.suffixes(), *PICTURES)

    def report_section(self, reconstruction: Video) -> str:
        """Some frames, target, reconstruction and error, under one magnifier; below, the PSNR of every frame."""
        if reconstruction.shape != self.signal.shape:
            return ""
        return look_closer(self._pictures(reconstruction, MOST_SHOWN)) + self._chart(reconstruction)

    def notebook_figures(self, reconstruction: Video) -> str:
        if reconstruction.shape != self.signal.shape:
            return ""
        return notebook_row(self._pictures(reconstruction, 1))

    def picture(self, reconstruction: Video | None = None) -> np.ndarray:
        """The middle frame."""
        shown = reconstruction or self.signal
        return _coloured(shown, shown.shape[0] // 2)

    def _pictures(self, reconstruction: Video, most: int) -> Pictures:
        count = self.signal.shape[0]
        chosen = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()
        places = [(f"Frame {i}", _coloured(self.signal, i), _coloured(reconstruction, i)) for i in chosen]
        return views_of(places, f"of {count:,}, every pixel shown")

    def _chart(self, reconstruction: Video) -> str:
        levels = np.minimum(self.signal.psnr_per_frame(reconstruction), HIGHEST)
        count = len(levels)
        worst = int(levels.argmin())
        chart = Chart(
            960, 200, (0.0, float(max(count - 1, 1))), padded(levels), "frame", "PSNR, dB", "PSNR of each frame"
        )
        middle, low, mean, high = binned(levels, 480)
        if count > len(middle):
            chart.band(middle, low, high, "after")
        chart.line(middle, mean, "after")
        return (
            f'<section><h2>Frame by frame</h2><p class="explain">PSNR of each frame of the reconstruction, rounded to '
            f"bytes: {levels.mean():.2f} dB in the mean, the lowest {levels[worst]:.2f} dB at frame {worst}.</p>"
            f'<div class="waves"><figure>{chart.render()}</figure></div></section>'
        )

    def more_measures(
        self, predict: Predict, convention: Convention, saved: Path | None
    ) -> dict[str, Callable[[], float]]:
        """The PSNR of the file at `saved`, read back: what the film's own compression loses included."""
        return {} if saved is None else {"psnr_of_file": lambda: self._file_psnr(saved)}

    def _file_psnr(self, saved: Path) -> float:
        from staf.kinds import open as open_signal

        film = open_signal(saved, kind="grid").array if saved.suffix == ".npy" else Video.read(saved).array
        if len(film) != self.signal.shape[0]:
            raise ValueError(f"the saved film has {len(film)} frames, another number than the target's")
        squares = []
        for found, target in zip(film, self.signal.array, strict=True):
            height, width, channels = found.shape
            # Films have sides of even length; a grey one is read back in colours.
            part = target[:height, :width]
            squares.append(square_error(found, np.repeat(part, channels // part.shape[2], axis=2)))
        return decibels(float(np.mean(squares)))

    def command_options(self, metadata: Entries) -> list[str] | None:
        part = self.signal.part
        words = ["--start", f"{part.start:g}"] if part.start > 0 else []
        words += ["--stop", f"{part.stop:g}"] if part.stop < math.inf else []
        words += ["--every", str(part.every)] if part.every > 1 else []
        return words + (["--size", f"{part.size[0]}x{part.size[1]}"] if part.size is not None else [])

    def python(self, metadata: Entries) -> str:
        signal, part = self.signal, self.signal.part
        if signal.source is None:
            return "your_signal"
        if part == WHOLE:
            return repr(signal.source)
        stop = "math.inf" if part.stop == math.inf else repr(part.stop)
        how = f"start={part.start!r}, stop={stop}, every={part.every}, size={part.size}"
        return f"staf.Video.read({signal.source!r}, {how})"

    def finish_work(self) -> tuple[str, int]:
        return f"all {self.signal.points:,} pixels are computed once more", self.signal.points

    def render_points(self, how: Entries, convention: Convention) -> int:
        return math.prod(self.signal.output_grid(convention=convention, **how).shape)

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        """A film, or a picture where the suffix is that of one."""
        count, height, width = self.signal.output_grid(convention=convention, **how).shape
        if path.suffix.lower() in PICTURES:
            drawn = self.signal.render(predict, convention=convention, device=device, **how)
            drawn.frame(0).save(path)
            return {"width": width, "height": height}
        self.signal.render_file(predict, path, device=device, convention=convention, **how)
        return {"frames": count, "width": width, "height": height}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        pixels = f"{size['width']}x{size['height']} pixels"
        if "frames" not in size:
            return pixels
        return f"{size['frames']:,} frame{'s' * (size['frames'] != 1)} of {pixels}"


def _coloured(video: Video, number: int) -> np.ndarray:
    """A frame as bytes (h, w, 3)."""
    frame = next(video.as_bytes(iter(video.array[number : number + 1])))
    return np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else np.asarray(frame)
