"""What the verbs of inverse problems share: a fit with held-out observations, beside the classical methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.restoration import (
    MODEL,
    InverseOptions,
    Start,
    as_picture,
    draw,
    fit_task,
    keep_best,
    middle,
    outcome,
    predicted_by,
    tell_choice,
    tell_methods,
    tell_oracle,
    write,
    write_metrics,
)
from staf.cli.resuming import finishing
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from staf.api import Fit
    from staf.signals.base import Signal
    from staf.tasks import InverseProblem, Oracle


def array_of(path: Path, what: str, otherwise: str = "") -> np.ndarray:
    """The array of an NPY file, `what` a verb reads; `otherwise` says how other files are taken."""
    from staf.signals.errors import SignalError, damage_named
    from staf.signals.npy import map_array

    if path.suffix.lower() != ".npy":
        raise UserError(f"{what} must be a .npy file, got {path}{otherwise and f': {otherwise}'}")
    try:
        with damage_named("NPY"):
            return map_array(path)
    except FileNotFoundError:
        raise UserError(f"cannot open {str(path)!r}: there is no such file") from None
    except SignalError as error:
        raise UserError(f"cannot open {str(path)!r}: {error}") from None


def solve(
    options: InverseOptions,
    terminal: Terminal,
    start: Start,
    task: InverseProblem,
    name: str,
    about: Document,
    shown: Tensor | None = None,
) -> int:
    """Fit a task, choose between the fit and the classical methods, and write what is returned as `name`.

    `about` begins the document of metrics.json; `shown` is the observation as a picture, where that is another.
    """
    from staf.planning import plan as make_plan
    from staf.tasks import Oracle

    with edge():
        plan = make_plan(task, start.budget, device=options.device_name().split(":")[0], model=options.model)
    keep = keep_best(task)
    oracle = Oracle(task, every=10) if task.truth is not None else None
    fit = fit_task(options, terminal, start, task, plan, [keep, oracle] if oracle else [keep])
    with finishing(fit, start.folder, terminal):
        about = {**about, "model": options.model, "kept_step": keep.best_step or fit.result.steps}
        return _finish(terminal, start.folder, name, fit, task, about, oracle, shown)


def _finish(
    terminal: Terminal,
    folder: Path,
    name: str,
    fit: Fit,
    task: InverseProblem,
    about: Document,
    oracle: Oracle | None,
    shown: Tensor | None,
) -> int:
    """Write what is returned, beside the classical methods where the truth is known, and say how good it is."""
    from staf.tasks.classical import measured
    from staf.tasks.inverse_classical import inverse_candidates
    from staf.tasks.returned import chosen_of

    model = str(about["model"])
    fit.save(folder / MODEL)
    candidates = inverse_candidates(task)
    choice = chosen_of(task, predicted_by(fit), candidates, model)
    files = write(folder, fit, task, name, choice)
    if (picture := as_preview(fit.reconstruction)) is not None:
        files["picture"] = str(picture.save(folder / f"{Path(name).stem}.png"))
    document: Document = {**about, **outcome(fit, task, choice)}
    if oracle is not None:
        rows = {model: (fit.metrics, task.predict(predicted_by(fit)).cpu())}
        rows |= {method: (measured(task, found.values), found.values) for method, found in candidates.items()}
        rows.setdefault(choice.method, (document["metrics"], choice.values))
        if shown is not None and shown.shape[1:] == task.signal.shape:
            seen = as_picture(task, task.transform.clamp(shown).flatten(1).T)
            files["observed"] = str(seen.save(folder / f"observed{Path(name).suffix}"))
        document["methods"] = {method: measures for method, (measures, _) in rows.items()}
        document["oracle"] = {"psnr": oracle.psnr, "step": oracle.step}
        files["comparison"] = draw(folder, task, rows, shown)
        tell_methods(terminal, str(about["file"]), rows, choice)
        tell_oracle(terminal, oracle)
    files |= write_metrics(folder, fit, document)
    terminal.say(f"{files[Path(name).stem]}: by {choice.method}")
    tell_choice(terminal, choice)
    terminal.finish({**document, "out": str(folder), "files": files})
    return 0


def as_preview(signal: Signal) -> Signal | None:
    """A grey picture of a grid of two or three axes, from its lowest to its highest value; of a volume the middle."""
    import numpy as np

    from staf.kinds import Grid, Image

    if not isinstance(signal, Grid) or signal.in_features not in (2, 3) or signal.out_features != 1:
        return None
    layer = middle(signal.array, 2)[..., 0].astype(np.float64)
    low, high = signal.value_range
    return Image(np.clip(np.rint((layer - low) / (high - low) * 255), 0, 255).astype(np.uint8))
