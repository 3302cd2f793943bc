"""Tables of time to quality from result files alone: seconds to each level, and to the released recipe's quality."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from paper.measures.step_times import LEVELS
from paper.runner.result import RunResult
from staf._tables import Table, mean, number

RELEASED = ("released", "released code")


def name_of(result: RunResult) -> str:
    """Network and recipe in words.

    >>> from pathlib import Path
    >>> name_of(RunResult(Path(), {"configuration": {"model": "staf", "recipe": "released code"}}))
    'staf, released code'
    """
    return f"{result.configuration['model']}, {result.configuration['recipe']}"


def seconds_table(results: Sequence[RunResult]) -> Table:
    """A row for each network, recipe and budget; times are means over the images that reached a level, if all did."""
    groups: dict[tuple[str, int], list[RunResult]] = defaultdict(list)
    for result in results:
        groups[name_of(result), int(result.configuration["budget"])].append(result)
    columns = ["network, recipe", "steps", "final (dB)", "seconds", "start: first", "start: later", "ms a step"]
    columns += [f"to {level} dB" for level in LEVELS]
    best = {name: max(_final(group) for (n, _), group in groups.items() if n == name) for name, _ in groups}
    rows = []
    for name in sorted(best, key=lambda name: (-best[name], name)):
        budgets = [members for (of, _), members in sorted(groups.items()) if of == name]
        starts = [float(result.details["start_seconds"]) for members in budgets for result in members]
        for members in budgets:
            row = [
                name,
                f"{mean([result.details['steps'] for result in members]):.0f}",
                number(_final(members)),
                number(mean([result.details["training_seconds"] for result in members]), 3),
                number(max(starts), 2),
                number(min(starts), 2),
                number(mean([result.details["step_ms"] for result in members]), 3),
            ]
            rows.append(row + [number(_seconds_to(members, level), 3) for level in LEVELS])
        if len(budgets) > 1:
            times = [[_seconds_to(members, level) for members in budgets] for level in LEVELS]
            soonest = [min((t for t in each if not math.isnan(t)), default=math.nan) for each in times]
            rows.append([name, "soonest", *[""] * 5, *(number(value, 3) for value in soonest)])
    images = {result.data_name for result in results}
    title = (
        f"Seconds of training, mean of {len(images)} image{'s' if len(images) > 1 else ''}; '-' is not reached by all"
    )
    return Table(title, columns, rows)


def _final(members: Sequence[RunResult]) -> float:
    """The mean final PSNR; minus infinity where no run has one, so that it sorts last."""
    values = [result.metrics["psnr"] for result in members if math.isfinite(result.metrics["psnr"])]
    return mean(values) if values else -math.inf


def _seconds_to(members: Sequence[RunResult], level: int) -> float:
    times = [result.details["reached"].get(str(level)) for result in members]
    return mean([float(time) for time in times]) if all(time is not None for time in times) else math.nan


def released_table(results: Sequence[RunResult]) -> Table:
    """For each image: the released recipe's final value, and the shortest budget of our default that reaches it.

    Quality is that of the same runner's final weights; a released code that was timed for part of its epochs takes the
    value of our implementation of its recipe.
    """
    columns = ["image", "released as", "final (dB)", "seconds", "ours: steps", "final (dB)", "seconds", "with start"]
    columns += ["times sooner", "with both starts"]
    rows = []
    ratios: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for image in dict.fromkeys(result.data_name for result in results):
        here = [r for r in results if r.data_name == image and r.configuration["model"] == "staf"]
        ours = [r for r in here if r.configuration["recipe"] == "default"]
        for released in (r for r in here if r.configuration["recipe"] in RELEASED):
            quality = _quality(released, here)
            enough = [r for r in ours if r.metrics["psnr"] >= quality]
            row = [image, str(released.configuration["recipe"]), number(quality), number(_training(released), 2)]
            if not enough:
                rows.append([*row, *["-"] * 6])
                continue
            soonest = min(enough, key=_training)
            plain = _training(released) / _training(soonest)
            started = (_training(released) + _start(released)) / (_training(soonest) + _start(soonest))
            ratios[str(released.configuration["recipe"])].append((plain, started))
            row += [str(soonest.details["steps"]), number(soonest.metrics["psnr"]), number(_training(soonest), 3)]
            row += [number(_training(soonest) + _start(soonest), 3), number(plain, 1), number(started, 1)]
            rows.append(row)
    for recipe, pairs in ratios.items():
        middle = [math.exp(mean([math.log(pair[i]) for pair in pairs])) for i in (0, 1)]
        rows.append(["geometric mean", recipe, *[""] * 6, number(middle[0], 1), number(middle[1], 1)])
    return Table("The released recipe's final quality by our default plan", columns, rows)


def _quality(released: RunResult, here: Sequence[RunResult]) -> float:
    own = released.metrics["psnr"]
    if math.isfinite(own):
        return own
    seed = released.configuration["seed"]
    same = [r for r in here if r.configuration["recipe"] == "released" and r.configuration["seed"] == seed]
    return same[0].metrics["psnr"] if same else math.inf


def _training(result: RunResult) -> float:
    return float(result.details["training_seconds"])


def _start(result: RunResult) -> float:
    return float(result.details["start_seconds"])
