"""The trainer: N networks trained together; a single fit is N = 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from staf.ops.execution import DEFAULT, Execution
from staf.training.checkpoint import Checkpoint, fingerprint
from staf.training.loop import Loop
from staf.training.progress import Progress, Shown, choose_mode
from staf.training.recipe import Recipe
from staf.training.result import Result
from staf.training.stacked import starts_of
from staf.training.state import Callback
from staf.training.task import Task
from staf.training.trainees import must_be_alone

CHECKPOINT_SECONDS = 60.0


def run(
    task: Task,
    module: nn.Module,
    recipe: Recipe,
    *,
    seed: int = 0,
    execution: Execution = DEFAULT,
    progress: bool | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | Path | None = None,
    resume: Checkpoint | None = None,
    chunk: int | None = None,
    title: str = "fit",
    keep_when_stopped: bool = False,
) -> Result:
    """Train `module` on `task` by `recipe`: `train` for one network.

    SIGINT, SIGTERM or SIGHUP ends the current step, writes a checkpoint (to `checkpoint`, or into the current folder)
    and raises `Interrupted`; with `keep_when_stopped`, after SIGINT the network is measured with its current weights
    and returned. With `checkpoint` given, it is also written every minute.
    """
    (result,) = train(
        [task],
        [module],
        recipe,
        seed=seed,
        execution=execution,
        progress=progress,
        callbacks=callbacks,
        checkpoint=checkpoint or Path(f"staf-interrupted-{fingerprint(task)[:8]}.safetensors"),
        checkpoint_seconds=math.inf if checkpoint is None else None,
        resume=resume,
        chunk=chunk,
        title=title,
        keep_when_stopped=keep_when_stopped,
    )
    return result


def train(
    tasks: Sequence[Task],
    fields: Sequence[nn.Module],
    recipe: Recipe,
    *,
    seed: int = 0,
    execution: Execution = DEFAULT,
    progress: bool | Shown | None = None,
    callbacks: Sequence[Callback] = (),
    names: Sequence[str] = (),
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float | None = None,
    resume: Checkpoint | None = None,
    chunk: int | None = None,
    title: str = "fit",
    keep_when_stopped: bool = False,
) -> list[Result]:
    """Train field i on task i with `recipe`, all at once; fields are changed in place and end in evaluation mode.

    A single field is trained directly. Several fields must have the same architecture, and tasks with the same loss;
    they are stacked, and each ends as if it were trained alone. Fields that read their task (INCODE) are trained one
    after another. `seed` decides the order of batches. The budget is that of the recipe: steps, seconds (of all
    networks together) or a target, whichever is reached first. A network that diverges gets the weights of its best
    loss; one that reaches the target, or is stopped by a callback, keeps its current weights; the others continue.

    With `checkpoint`, a single fit writes this file when it is interrupted and every `checkpoint_seconds`. With
    `keep_when_stopped`, Ctrl-C ends its training, and it is measured and returned. Several fits have no checkpoint:
    `Interrupted` is raised without a file.

    >>> import numpy as np
    >>> from staf.kinds import Image
    >>> from staf.nn import siren
    >>> from staf.tasks import Reconstruction
    >>> tasks = [Reconstruction(Image(np.full((4, 4), grey))) for grey in (0.2, 0.7)]
    >>> fields = [siren(2, 1, width=8, depth=2) for _ in tasks]
    >>> [result.steps for result in train(tasks, fields, Recipe(steps=3), progress=False)]
    [3, 3]
    """
    if not tasks or len(tasks) != len(fields):
        raise ValueError(f"tasks and fields must have the same length, got {len(tasks)} and {len(fields)}")
    if len(tasks) > 1 and (checkpoint is not None or resume is not None):
        raise ValueError(f"a checkpoint holds a single fit, got {len(tasks)} tasks")
    if len(tasks) > 1 and (any(map(must_be_alone, starts_of(fields))) or any(map(must_be_alone, tasks))):
        options = {"seed": seed, "execution": execution, "progress": progress, "callbacks": callbacks, "title": title}
        several = zip(tasks, fields, names or [""] * len(tasks), strict=True)
        return [train([t], [f], recipe, names=[n], chunk=chunk, **options)[0] for t, f, n in several]  # type: ignore
    loop = Loop(tasks, fields, recipe, seed, execution, callbacks, names, chunk, resume, keep_when_stopped)
    bar: Shown
    if progress is None or isinstance(progress, bool):
        mode = choose_mode(progress) if loop.processes.rank == 0 else "none"
        bar = Progress(loop.total, recipe.seconds, mode, title)
    else:
        bar = progress
    every = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    return loop.run(bar, None if checkpoint is None else Path(checkpoint), every)
