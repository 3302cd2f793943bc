"""How C, Omega and Phi move during training, layer by layer (Figure "Layer-wise dynamics")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paper.study.looking import LookingStudy
from paper.study.rows import Length, Row, plan_for

PROTOCOLS = ("released", "ours")
# The plan of a GPU has full batches on every device.
PLANNED_FOR = "cuda"
PARTS = ("amplitude", "frequency", "phase")
SYMBOLS = {"amplitude": "C", "frequency": "Omega", "phase": "Phi"}


def look(signal: Any, seed: int, device: str, iterations: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Share of each parameter's path in the first 40% of the steps, and the drift of every layer."""
    from staf.analysis import ParameterDynamics
    from staf.api import fit

    rows, arrays = {}, {}
    for protocol in PROTOCOLS:
        plan = plan_for(signal, Row("staf", "staf"), protocol, Length(iterations), PLANNED_FOR)
        field = plan.field(seed)
        recorder = ParameterDynamics(field)
        recipe = plan.recipe
        done = fit(signal, field, recipe, seed=seed, device=device, progress=False, callbacks=[recorder])
        found = recorder.result
        shares = found.early_share(int(0.4 * iterations))
        rows[protocol] = {"psnr": done.metrics["psnr"]}
        rows[protocol] |= {f"{SYMBOLS[part]}: path in the first 40%": shares[part] for part in PARTS}
        arrays[f"{protocol}_step"] = np.asarray(found.step)
        arrays[f"{protocol}_loss"] = np.asarray(found.loss)
        for kind in ("change", "drift"):
            arrays |= {f"{protocol}_{kind}_{part}": values for part, values in found.arrays(kind).items()}
    return rows, arrays


def figure(arrays: Mapping[str, Any]) -> Any:
    """Change per step (left) and drift (right) of Omega, Phi and C, the recipes side by side."""
    from staf.figures.style import line_style, new_figure, tidy

    made = new_figure(13, 7)
    grid = made.subplots(3, 4, sharex="col")
    for column, (protocol, kind) in enumerate((p, k) for p in PROTOCOLS for k in ("change", "drift")):
        for line, part in enumerate(("frequency", "phase", "amplitude")):
            values, axes = arrays[f"{protocol}_{kind}_{part}"], grid[line][column]
            for layer in range(values.shape[1]):
                axes.plot(arrays[f"{protocol}_step"], values[:, layer], label=f"layer {layer + 1}", **line_style(layer))
            title = f"{SYMBOLS[part]}, {protocol}: " + (
                "change per step" if kind == "change" else "drift from the start"
            )
            tidy(axes, x="step" if line == 2 else "", title=title)
            if kind == "change":
                axes.set_yscale("log")
    grid[0][0].legend(frameon=False, fontsize=7)
    return made


STUDY = LookingStudy(
    "dynamics",
    "How the sinusoids of STAF move over 500 full-batch steps; paper: mostly early, then they plateau",
    look,
    figure,
    "mean absolute change of C, Omega, Phi per step and drift from the start, by layer; rates fall in both recipes",
    data="images",
    options={"iterations": 500},
    quick={"iterations": 3},
    needs="one image",
    time="10 s on an H200",
).study()
