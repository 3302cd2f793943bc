"""The table of a comparison: a row for each network, best first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from staf._tables import Table, mean, number

# Headings of measures and their digits. Beside the measure that ranks, the first of the others that a fit has is shown.
HEADINGS = {
    "ssim": ("SSIM", 4),
    "iou": ("IoU", 4),
    "log_spectral_distance": ("log-spectral distance (dB)", 4),
    "psnr": ("PSNR (dB)", 2),
}


@dataclass(frozen=True)
class NetworkRow:
    """What the table shows of one fit; `metrics` are of the final weights."""

    image: str
    model: str
    metrics: Mapping[str, float]
    parameters: int
    steps: int
    seconds: float


def rates_in_words(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """By what each network's learning rate was chosen, a line each, from the reasons of the plans by network.

    >>> rates_in_words({"siren": ["steps of 8,192", "learning rates of 0.002, searched as for every network"]})
    ['siren: learning rates of 0.002, searched as for every network']
    """
    return [
        f"{model}: {reason}"
        for model, own in reasons.items()
        for reason in own
        if reason.startswith("learning rates of")
    ]


def measure_in_words(metrics: Mapping[str, float], main: str = "psnr") -> str:
    """The measure that ranks, as titles have it.

    >>> measure_in_words({"psnr": 30.0}), measure_in_words({"psnr": 30.0, "iou": 0.99}, "iou")
    ('30.00 dB', 'IoU 0.9900')
    """
    heading, digits = HEADINGS[main]
    value = number(metrics[main], digits)
    return f"{value} dB" if main == "psnr" else f"{heading} {value}"


def network_table(rows: Sequence[NetworkRow], main: str = "psnr") -> Table:
    """A row per network, best mean first: `main` of each image (mean over seeds), their mean, steps and time.

    `main` is a measure that is better where it is higher. LPIPS has a column where it was measured.

    >>> fits = [NetworkRow("photo", name, {"psnr": psnr}, 9, 20, 1.0) for name, psnr in (("siren", 30), ("staf", 33))]
    >>> [row[:2] for row in network_table(fits).rows]
    [['staf', '33.00'], ['siren', '30.00']]
    """
    images = list(dict.fromkeys(row.image for row in rows))
    groups: dict[str, list[NetworkRow]] = defaultdict(list)
    for row in rows:
        groups[row.model].append(row)

    def quality(group: Sequence[NetworkRow], image: str) -> float:
        return mean([row.metrics[main] for row in group if row.image == image])

    def overall(group: Sequence[NetworkRow]) -> float:
        return mean([quality(group, image) for image in images if any(row.image == image for row in group)])

    several = len(images) > 1
    beside = [name for name in HEADINGS if name != main]
    second = next((name for name in beside if any(name in row.metrics for row in rows)), "ssim")
    seen = any("lpips" in row.metrics for row in rows)
    (heading, digits), (other, other_digits) = HEADINGS[main], HEADINGS[second]
    columns = ["model", heading, *(images if several else []), other, *(["LPIPS"] if seen else [])]
    columns += ["parameters", "steps", "seconds", "runs"]
    lines = []
    # Networks whose values are not numbers come last.
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(overall(item[1])), -overall(item[1])))
    for model, group in ranked:
        lines.append(
            [
                model,
                number(overall(group), digits),
                *([number(quality(group, image), digits) for image in images] if several else []),
                number(mean([row.metrics[second] for row in group if second in row.metrics]), other_digits),
                *([number(mean([row.metrics["lpips"] for row in group if "lpips" in row.metrics]), 4)] if seen else []),
                f"{group[0].parameters:,}",
                f"{mean([row.steps for row in group]):.0f}",
                number(mean([row.seconds for row in group]), 1),
                str(len(group)),
            ]
        )
    several = several or any(len(group) > 1 for group in groups.values())
    title = "Same budget each, final weights" + (", mean over images and seeds" if several else "")
    return Table(title, columns, lines)
