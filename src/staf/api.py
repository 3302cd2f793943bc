"""The main functions: `fit` a signal, look at the `Fit`, save it, and `load` it as a `FittedField`."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from staf import __version__
from staf._device import choose_device
from staf.fitted_field import FittedField
from staf.nn import parameter_roles
from staf.nn.networks import NETWORKS, model_of
from staf.ops.execution import Execution
from staf.planning import plans
from staf.planning.plans import Budget, Plan
from staf.planning.plans import plan as make_plan
from staf.signals import Signal
from staf.storage import FileError, file
from staf.tasks import task_for
from staf.training import Callback, Checkpoint, History, Recipe, Result, run
from staf.training.checks import check_budget, check_features, check_metadata, check_seed, check_trainable
from staf.training.task import Task, missing_members

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from staf.viewer import EmbeddedPage

__all__ = ["Fit", "FittedField", "as_callbacks", "as_signal", "choose_device", "fit", "load"]


class Fit:
    """The result of `staf.fit`: the field, its metrics and history, and the signal with its reconstruction.

    Attributes:
        start: the tensors of the activations before the first step, by name.
        from_seed: whether the field was built from the plan and the seed (and not given).
        returned: for restorations, which result was chosen for the reconstruction, and why; otherwise None.
    """

    def __init__(
        self,
        result: Result,
        task: Task,
        plan: Plan,
        device: str,
        *,
        start: dict[str, Tensor] | None = None,
        from_seed: bool = False,
    ) -> None:
        self.result = result
        self.start = start or {}
        self.from_seed = from_seed
        self.task = task
        self.plan = plan
        self.device = device
        self.signal: Any = getattr(task, "signal", None)
        self.notes = [*getattr(self.signal, "notes", []), *result.notes]
        self.returned: str | None = None
        metadata = {
            **task.metadata(),
            "seed": result.seed,
            "from_seed": from_seed,
            "recipe": result.recipe.to_plain(),
            "steps": result.steps,
            "stopped": result.stopped,
            "metrics": result.metrics,
            "device": device,
            "versions": {"staf": __version__, "torch": torch.__version__, "python": platform.python_version()},
        }
        self.field = FittedField(result.field, metadata)
        # What the final weights were measured by, where the task keeps it: computing it again takes as long.
        self._reconstruction: Any = getattr(task, "reconstruction", None)

    def __repr__(self) -> str:
        measures = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"Fit({self.field!r}, {measures}, {self.result.steps} steps in {self.result.seconds:.1f}s)"

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of the final weights over all points; values are clamped and the peak is 1."""
        return self.result.metrics

    @property
    def history(self) -> History:
        """The loss and PSNR of every step's batch, before its update."""
        return self.result.history

    @property
    def recipe(self) -> Recipe:
        """The recipe that trained the field."""
        return self.result.recipe

    @property
    def module(self) -> nn.Module:
        """The trained network; `field` adds the meaning of its coordinates and values."""
        return self.result.field

    @property
    def stopped(self) -> str:
        """Why the training ended."""
        return self.result.stopped

    @property
    def reconstruction(self) -> Any:
        """The fitted signal at its own resolution."""
        if self._reconstruction is None:
            self._reconstruction = self.field.render()
        return self._reconstruction

    def return_instead(self, signal: Signal, note: str) -> None:
        """Replace the reconstruction by `signal`, with a note that says why; restorations use this."""
        self._reconstruction, self.returned = signal, note
        self.notes.append(note)

    def render(self, **how: Any) -> Any:
        """Render the fitted signal at another scale, size or crop."""
        return self.field.render(**how)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file that `staf.load` opens without the data."""
        return self.field.save(path)

    def plot(self) -> Figure:
        """Return a figure of the PSNR of every step; `savefig(path)` writes it."""
        from staf.figures import psnr_curve

        architecture = getattr(self.module, "architecture", None) or {}
        return psnr_curve({architecture.get("name", type(self.module).__name__): self.history})

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write only the report, as one HTML file."""
        from staf._files import atomic_write
        from staf.reports.measures import measures
        from staf.reports.page import report_html

        atomic_write(Path(path), report_html(self, measures(self, None)))
        return Path(path)

    def view(self, *, height: int = 560) -> EmbeddedPage:
        """Show the field in a notebook: zoom, derivatives, activations with sliders."""
        return self.field.view(height=height)

    def to(self, device: torch.device | str) -> Fit:
        """Move the field to a device; the data is not moved."""
        self.field.to(device)
        return self

    def _repr_html_(self) -> str:
        from staf.reports import notebook_html

        return notebook_html(self)


def fit(
    source: Any,
    field: nn.Module | None = None,
    recipe: Recipe | None = None,
    *,
    plan: Plan | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    target_db: float | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    keep_when_stopped: bool = False,
) -> Fit:
    """Fit a field to a signal.

    Without `field`, `recipe` and `plan`, the default plan for the signal, the budget and the device is used. The budget
    is `steps`, `seconds` or `target_db`, whichever is reached first. The same seed on the same CPU gives the same bits.

    Args:
        source: a path, an array, a tensor, a Pillow image, a signal from `staf.open`, or a task.
        field: the network: any module from (n, d) coordinates to (n, c) values.
        recipe: how to train it.
        plan: a network and a recipe, for example from `staf.plans`.
        steps: stop after this many steps.
        seconds: stop after this many seconds of training.
        target_db: stop when this PSNR over all points is reached.
        seed: the seed of the starting weights and the batches.
        device: the device to train on; by default a GPU if there is one.
        progress: whether to show progress on stderr (default: yes, as a bar in a terminal or a notebook).
        callbacks: one function of a `State`, or several, called after each group of steps.
        checkpoint: the checkpoint file; if given, it is also written once a minute. By default, an interrupted fit
            writes one in the current folder.
        resume: the checkpoint of an interrupted fit. Its seed, recipe and budget are used; another budget is an error.
        keep_when_stopped: whether Ctrl-C ends the training, so that the fit so far is measured and returned, with
            `fit.result.checkpoint` to resume from. Otherwise Ctrl-C writes a checkpoint and raises `Interrupted`.

    >>> import numpy as np, staf
    >>> picture = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    >>> fit = staf.fit(picture, field=staf.siren(2, 1, width=16, depth=2), steps=200, progress=False)
    >>> fit.metrics["psnr"] > 20
    True
    """
    if field is not None and not isinstance(field, nn.Module):
        raise TypeError(f"field must be a module, such as staf.siren(2, 3), got {field!r}")
    if isinstance(field, FittedField):
        # Training starts from its weights.
        field = field.module
    if field is not None:
        check_trainable(field)
    if recipe is not None and not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a Recipe, such as staf.recipes.default(), got {recipe!r}")
    seed = check_seed(seed)
    watchers = as_callbacks(callbacks)
    if checkpoint is not None and Path(checkpoint).is_dir():
        raise FileError(f"checkpoint must be a file, got the folder {os.fspath(checkpoint)!r}")
    chosen_device = choose_device(device)
    saved = Checkpoint.load(resume) if resume is not None else None
    if saved is not None:
        seed = saved.seed
        if recipe is not None and recipe != saved.recipe:
            raise FileError(f"{resume} was made by another recipe: leave recipe out to continue with its own")
        check_budget(resume, saved.recipe, steps=steps, seconds=seconds, target_db=target_db)
    signal: Any = source if isinstance(source, Task) else as_signal(source)
    budget = Budget(steps, seconds, target_db)
    if plan is None:
        if field is None:
            plan = make_plan(signal, budget, device=chosen_device.type)
        else:
            architecture = getattr(field, "architecture", None) or {"name": "staf"}
            name = architecture["name"] if architecture["name"] in NETWORKS else model_of(architecture)
            count = sum(parameter.numel() for parameter in field.parameters())
            plan = plans.for_own_network(signal, budget, device=chosen_device.type, model=name, parameters=count)
    if saved is not None:
        recipe = saved.recipe
    else:
        recipe = (recipe or plan.recipe).limited(steps=budget.steps, seconds=budget.seconds, target_db=budget.target_db)
    task: Any = source if isinstance(source, Task) else task_for(signal.as_planned(recipe), recipe.convention)
    from_seed = field is None
    if field is None:
        field = plan.field(seed)
    check_features(field, task)
    check_metadata(task)
    roles = parameter_roles(field)
    start = {
        name: parameter.detach().cpu().clone()
        for name, parameter in field.named_parameters()
        if roles[name] in ("amplitude", "frequency", "phase")
    }
    field.to(chosen_device)
    result = run(
        task,
        field,
        recipe,
        seed=seed,
        execution=Execution(device=chosen_device),
        progress=progress,
        callbacks=watchers,
        checkpoint=Path(checkpoint) if checkpoint is not None else (Path(resume) if resume is not None else None),
        resume=saved,
        keep_when_stopped=keep_when_stopped,
    )
    return Fit(result, task, plan, str(chosen_device), start=start, from_seed=from_seed)


def load(path: str | os.PathLike[str], module: nn.Module | None = None) -> FittedField:
    """Open a fitted field from its file. Networks that are not from this library also need `module`."""
    loaded, metadata = file.load_field(path, module)
    return FittedField(loaded.eval(), metadata)


def as_signal(source: Any) -> Signal:
    """A signal as it is, or whatever `staf.open` makes of a path, array, tensor or PIL image."""
    if isinstance(source, Signal):
        return source
    if hasattr(source, "loss") and (missing := missing_members(source)):
        raise TypeError(f"source has a loss, as a task, and lacks {', '.join(missing)}: see staf.training.task.Task")
    from staf.kinds import open as open_signal

    return open_signal(source)


def as_callbacks(callbacks: Callback | Sequence[Callback]) -> list[Callback]:
    """One callback or several as a list; whatever cannot be called is refused."""
    watchers = list(callbacks) if isinstance(callbacks, Iterable) and not callable(callbacks) else [callbacks]
    for watcher in watchers:
        if not callable(watcher):
            raise TypeError(f"callbacks must be functions of a State, got {watcher!r}")
    return watchers
