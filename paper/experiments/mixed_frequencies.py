"""Pictures of one, few, many and all frequencies, and of repeated detail: where STAF helps (Section "Discussion")."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from paper.report.pictures import dots
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row


def pictures(side: int) -> Mapping[str, np.ndarray]:
    """Synthetic pictures (side, side, 3), 8 bits, from a fixed seed, by what they contain."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:side, 0:side] / side
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side), indexing="ij"))
    frequency[0, 0] = np.inf

    def waves(count: int, fastest: float) -> np.ndarray:
        cycles = rng.uniform(1, fastest, (count, 3)) * rng.choice([-1, 1], (count, 3))
        across = rng.uniform(1, fastest, (count, 3))
        phase = rng.uniform(0, 2 * np.pi, (count, 3))
        return np.sin(2 * np.pi * (x[..., None, None] * cycles + y[..., None, None] * across) + phase).sum(-2)

    def filtered(power: float) -> np.ndarray:
        noise = rng.standard_normal((side, side, 3))
        return np.fft.ifft2(np.fft.fft2(noise, axes=(0, 1)) / frequency[..., None] ** power, axes=(0, 1)).real

    tile = filtered(1.0)[: -(-side // 8), : -(-side // 8)]
    found = {
        "one wave": waves(1, side / 8),
        "5 waves": waves(5, side / 8),
        "50 waves": waves(50, side / 4),
        "repeated detail": np.tile(tile, (8, 8, 1))[:side, :side],
        "like a photo (1/f)": filtered(1.0),
        "smooth (1/f^2)": filtered(2.0),
        "white noise": rng.standard_normal((side, side, 3)),
    }
    return {name: _eight_bits(values) for name, values in found.items()}


def _eight_bits(values: np.ndarray) -> np.ndarray:
    scaled = 0.5 + 0.18 * (values - values.mean()) / max(values.std(), 1e-12)
    return np.rint(255 * scaled.clip(0, 1)).astype(np.uint8)


STUDY = ImageStudy(
    "mixed-frequencies",
    "Synthetic pictures by what they contain; paper: STAF helps most with mixed frequencies and repeated detail",
    (
        Row("staf", "staf"),
        Row("staf, one term", "staf", {"terms": 1}),
        Row("siren", "siren"),
        Row("finer", "finer"),
        Row("ffn", "ffn"),
        Row("pemlp", "pemlp"),
    ),
    Length(500),
    figures={"mixed-frequencies": dots},
    make_images=pictures,
    by_image=True,
    needs="nothing: the pictures are made",
    time="6 rows x 2 recipes x 7 pictures: 3 min on an H200",
    quick={"side": 8, "protocols": ["ours"]},
).study()
