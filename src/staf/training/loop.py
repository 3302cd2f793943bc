"""The one loop."""

from __future__ import annotations

import copy
import math
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from staf._files import WriteError
from staf.ops.linear import product_precision
from staf.training import callback_state as findings
from staf.training import interrupt
from staf.training.batches import Batches
from staf.training.capture import CapturedStepper
from staf.training.checkpoint import Checkpoint, fingerprint
from staf.training.divergence import Keeper
from staf.training.history import History, decibels
from staf.training.optim.optimiser import Optimiser
from staf.training.precision import at_step
from staf.training.prediction import predictor
from staf.training.progress import Progress, choose_mode
from staf.training.recipe import Recipe
from staf.training.stepper import Stepper
from staf.training.task import Task

CHECKPOINT_SECONDS = 60.0
# A group of captured steps is about this long, so that progress moves and Ctrl-C is heard.
GROUP_SECONDS = 0.25
CHUNK = {"cpu": 2**14, "cuda": 2**20}


@dataclass
class State:
    """What a callback sees after a step; `stop(reason)` ends the fit there, with those weights.

    A callback that has a method `finish(module)` is asked once more, before the field is measured: it may put other
    weights in place, and returns a sentence that says so. What a callback has found is part of a checkpoint if it is
    `findings.Remembering`.
    """

    step: int
    steps: int | None
    loss: float
    psnr: float
    seconds: float
    field: nn.Module
    history: History
    stopped: str | None = None

    def stop(self, reason: str) -> None:
        self.stopped = reason


Callback = Callable[[State], None]


@dataclass
class Result:
    """A trained field and how it came about."""

    field: nn.Module
    metrics: dict[str, float]
    history: History
    recipe: Recipe
    seed: int
    seconds: float
    steps: int
    stopped: str
    notes: list[str] = field(default_factory=list)


def run(
    task: Task,
    module: nn.Module,
    recipe: Recipe,
    *,
    seed: int = 0,
    progress: bool | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | Path | None = None,
    resume: Checkpoint | None = None,
    chunk: int | None = None,
    title: str = "fit",
) -> Result:
    """Train `module` on `task` by `recipe`; the module is changed in place, and ends in evaluation mode.

    Batch order comes from `seed`. SIGINT or SIGTERM ends the step under way, writes a checkpoint (to `checkpoint`, or
    into the current folder) and raises `Interrupted`. With `checkpoint` given, it is also written every minute.
    """
    first = next(module.parameters(), None)
    if first is None:
        raise ValueError(f"the field has no parameters to train: {type(module).__name__}")
    device = first.device
    module.train()
    bind = getattr(module, "bind", None)
    if bind is not None:
        bind(task)
    total = recipe.total_steps(task.points)
    optimiser = Optimiser(module, recipe)
    generator = torch.Generator(device).manual_seed(seed)
    batches = Batches(task.points, recipe.batch_size(task.points), generator)
    history, step, elapsed_before = History(), 0, 0.0
    keeper = Keeper(patience=max(50, (total or 1000) // 10))
    mark = fingerprint(task)
    chunk = chunk or CHUNK.get(device.type, CHUNK["cuda"])
    if resume is not None:
        resume.restore(module, optimiser, batches, mark)
        history, step, elapsed_before, chunk = resume.history, resume.step, resume.elapsed, resume.chunk
        keeper.first = history.loss[0] if history.loss else math.nan
        keeper.best, keeper.best_step, keeper.weights = resume.best_loss, resume.best_step, resume.best
        findings.restore(callbacks, resume.findings)
    keeper.start(module)
    kind, group = (CapturedStepper, 100) if device.type == "cuda" else (Stepper, 1)
    stepper = kind(task, module, optimiser, batches, group=group, chunk=chunk)
    # A callback that looks every k steps sees the weights of those steps, not of the group's end.
    together = min([group, *(callback.every for callback in callbacks if hasattr(callback, "every"))])
    notes: list[str] = [] if resume is None else list(resume.notes)
    started = time.monotonic()
    last_saved = started
    confirm_after = 0.0
    step_seconds = GROUP_SECONDS / 2
    # Seconds until the first steps were done. Compiling and recording are no part of a schedule over seconds: a slow
    # start would skip the rise of its rates.
    waited = 0.0
    stopped: str | None = None if resume is None else resume.stopped

    def elapsed() -> float:
        return elapsed_before + time.monotonic() - started

    def fraction(at: int, start: float = 0.0) -> float:
        """How much of the fit is over at a step; of that after the first `start` seconds."""
        by_steps = at / total if total else 0.0
        by_time = 0.0
        if recipe.seconds is not None and recipe.seconds > start:
            by_time = (elapsed() - start) / (recipe.seconds - start)
        return min(1.0, max(by_steps, by_time))

    def save(path: Path) -> None:
        generator, position = batches.state()
        Checkpoint(
            step=step,
            seed=seed,
            elapsed=elapsed(),
            recipe=recipe,
            fingerprint=mark,
            architecture=getattr(module, "architecture", None),
            history=history,
            field=module.state_dict(),
            best=keeper.weights,
            best_loss=keeper.best,
            best_step=keeper.best_step,
            optimiser=optimiser.tensors(),
            generator=generator,
            position=position,
            chunk=stepper.chunk,
            notes=notes + stepper.notes,
            findings=findings.gather(callbacks),
            stopped=stopped,
        ).save(path)

    def leave(interruption: interrupt.Interruption) -> interrupt.Interrupted:
        path = Path(checkpoint) if checkpoint else Path(f"staf-interrupted-{mark[:8]}.safetensors")
        try:
            save(path)
        except WriteError as error:
            bar.say(str(error.strerror))
            path = Path(tempfile.mkdtemp(prefix="staf-")) / path.name
            save(path)
        return _interrupted(interruption, path, step, total)

    with Progress(total, recipe.seconds, choose_mode(progress), title) as bar, interrupt.watch() as interruption:
        while stopped is None:
            if total is not None and step >= total:
                stopped = "finished"
                break
            if recipe.seconds is not None and elapsed() >= recipe.seconds:
                stopped = "the time is up"
                break
            count = min(together, max(1, int(GROUP_SECONDS / step_seconds)))
            count = count if total is None else min(count, total - step)
            multipliers = [recipe.schedule(fraction(step + i, waited)) for i in range(count)]
            frozen = recipe.freeze_activations_from
            rates = [
                optimiser.rates(multiplier, frozen is not None and step + i >= frozen)
                for i, multiplier in enumerate(multipliers)
            ]
            said = len(stepper.notes)
            began = time.monotonic()
            with product_precision(at_step(recipe.precision, fraction(step, waited))):
                losses = stepper.advance(rates)[:, 0].tolist()
            step_seconds = max((time.monotonic() - began) / count, 1e-6)
            waited = waited or elapsed() - elapsed_before
            for sentence in stepper.notes[said:]:
                bar.say(sentence)
            now = elapsed()
            for i, (loss, multiplier) in enumerate(zip(losses, multipliers, strict=True)):
                history.append(step + i, loss, multiplier, now)
            trouble = keeper.look(step, losses, module)
            step += count
            loss = losses[-1]
            if trouble is not None:
                module.load_state_dict(keeper.weights)
                stopped = f"diverged at step {step - 1}: {trouble}; the weights of step {keeper.best_step} are kept"
                notes.append(stopped)
                bar.say(stopped)
                break
            state = State(step, total, loss, decibels(loss), now, module, history)
            bar.update(step, loss, state.psnr, now, fraction(step))
            for callback in callbacks:
                callback(state)
            stopped = state.stopped
            target = recipe.target_db
            if stopped is None and target is not None and state.psnr >= target and now >= confirm_after:
                # A task of one's own may measure other things; its training loss then decides alone.
                measured = task.evaluate(predictor(module, stepper.chunk)).get("psnr", state.psnr)
                confirm_after = elapsed() + 5 * (elapsed() - now)
                if measured >= target:
                    stopped = f"reached {measured:.2f} dB"
            if interruption:
                raise leave(interruption)
            if checkpoint is not None and time.monotonic() - last_saved > CHECKPOINT_SECONDS:
                try:
                    save(Path(checkpoint))
                except WriteError as error:
                    # A disk that has filled up must not cost the fit; it may have room again by the end.
                    bar.say(f"no checkpoint: {error.strerror}")
                last_saved = time.monotonic()

    seconds = elapsed()
    module.eval()
    final, sentences = copy.deepcopy(module.state_dict()), list(notes)
    with interrupt.watch(at_once=True) as interruption:
        try:
            for callback in callbacks:
                finish = getattr(callback, "finish", None)
                if finish is not None:
                    sentences.append(finish(module))
            metrics = task.evaluate(predictor(module, stepper.chunk))
        except KeyboardInterrupt:
            if not interruption or stopped.startswith("diverged"):
                raise
            # Measuring can take long: what was trained is kept, and resuming measures it.
            module.load_state_dict(final)
            raise leave(interruption) from None
    return Result(module, metrics, history, recipe, seed, seconds, step, stopped, sentences + stepper.notes)


def _interrupted(
    interruption: interrupt.Interruption, path: Path, step: int, total: int | None
) -> interrupt.Interrupted:
    assert interruption.signal_number is not None
    name = "Ctrl-C" if interruption.signal_number == signal.SIGINT else "SIGTERM"
    of = f" of {total}" if total else ""
    message = (
        f"stopped by {name} after step {step}{of}; saved {path}, and the same call with resume={str(path)!r} goes on"
    )
    return interrupt.Interrupted(message, path, interruption.signal_number, step)
