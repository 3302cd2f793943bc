"""The table of a comparison: a row for each network, best first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from staf._tables import Table, mean, number

SECOND = {"ssim": "SSIM", "iou": "IoU", "log_spectral_distance": "log-spectral distance (dB)"}


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


def network_table(rows: Sequence[NetworkRow]) -> Table:
    """A row per network, best mean first: PSNR of each image (mean over seeds), their mean, steps and time.

    LPIPS has a column where it was measured.

    >>> fits = [NetworkRow("photo", name, {"psnr": psnr}, 9, 20, 1.0) for name, psnr in (("siren", 30), ("staf", 33))]
    >>> [row[:2] for row in network_table(fits).rows]
    [['staf', '33.00'], ['siren', '30.00']]
    """
    images = list(dict.fromkeys(row.image for row in rows))
    groups: dict[str, list[NetworkRow]] = defaultdict(list)
    for row in rows:
        groups[row.model].append(row)

    def decibels(group: Sequence[NetworkRow], image: str) -> float:
        return mean([row.metrics["psnr"] for row in group if row.image == image])

    def overall(group: Sequence[NetworkRow]) -> float:
        return mean([decibels(group, image) for image in images if any(row.image == image for row in group)])

    several = len(images) > 1
    # The measure beside the PSNR that all of these fits have.
    second = next((name for name in SECOND if any(name in row.metrics for row in rows)), "ssim")
    seen = any("lpips" in row.metrics for row in rows)
    columns = ["model", "PSNR (dB)", *(images if several else []), SECOND[second], *(["LPIPS"] if seen else [])]
    columns += ["parameters", "steps", "seconds", "runs"]
    lines = []
    # Networks whose values are not numbers come last.
    ranked = sorted(groups.items(), key=lambda item: (math.isnan(overall(item[1])), -overall(item[1])))
    for model, group in ranked:
        beside = mean([row.metrics[second] for row in group if second in row.metrics])
        lines.append(
            [
                model,
                number(overall(group)),
                *([number(decibels(group, image)) for image in images] if several else []),
                number(beside, 4),
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
