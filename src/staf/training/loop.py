"""The loop: groups of steps until every network has ended, then the measuring."""

from __future__ import annotations

import copy
import math
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from staf._files import WriteError
from staf.ops.execution import Execution
from staf.training import callback_state, interrupt
from staf.training.assembly import assemble
from staf.training.capture import WARM_UP
from staf.training.checkpoint import Checkpoint, fingerprint
from staf.training.clock import Clock
from staf.training.divergence import Divergence
from staf.training.history import History, decibels
from staf.training.precision import at_step
from staf.training.prediction import predictor
from staf.training.processes import current
from staf.training.progress import Shown
from staf.training.recipe import Recipe
from staf.training.result import Result
from staf.training.state import Callback, State
from staf.training.task import Task
from staf.training.trainees import OneNetwork, SeveralNetworks

# A group of captured steps is about this long, so that progress moves and Ctrl-C is heard. Several networks wait
# longer, because the GPU is idle between groups while all their losses are looked at.
GROUP_SECONDS, GROUP_SECONDS_OF_SEVERAL = 0.25, 1.0


@dataclass
class _Course:
    """How the training of one network went; `weights` are those of its end, where it ended before the others."""

    history: History = field(default_factory=History)
    steps: int = 0
    stopped: str | None = None
    notes: list[str] = field(default_factory=list)
    weights: list[Tensor] | None = None
    confirm_after: float = 0.0


class Loop:
    """The training of a call of `train`; the methods stand in the order in which they run."""

    def __init__(
        self,
        tasks: Sequence[Task],
        fields: Sequence[nn.Module],
        recipe: Recipe,
        seed: int,
        execution: Execution,
        callbacks: Sequence[Callback],
        names: Sequence[str],
        chunk: int | None,
        resume: Checkpoint | None,
        keep_when_stopped: bool = False,
    ) -> None:
        several = len(tasks) > 1
        if several and any(hasattr(callback, "finish") for callback in callbacks):
            raise ValueError("a callback with finish(module) belongs to a single fit, got several networks")
        self.fields, self.recipe, self.seed = fields, recipe, seed
        self.processes = current()
        self.execution, self.names = execution, names
        self.keep_when_stopped = keep_when_stopped
        # The file from which a fit that was stopped and then measured can be resumed.
        self.kept: Path | None = None
        self.trainee: OneNetwork | SeveralNetworks = (
            SeveralNetworks(tasks, fields, recipe, execution) if several else OneNetwork(tasks[0], fields[0], execution)
        )
        # Those of the task itself run first: what they keep up to date belongs to the step that the others look at.
        own = getattr(self.trainee.task, "callbacks", None)
        self.callbacks: list[Callback] = [*(own() if own is not None else ()), *callbacks]
        self.total = recipe.total_steps(self.trainee.task.points)
        chunk = chunk if resume is None else resume.chunk
        self.stepper = assemble(self.trainee.task, self.trainee.module, recipe, seed=seed, chunk=chunk)
        self.courses = [_Course() for _ in tasks]
        self.divergence = Divergence(self.trainee.tensors, len(tasks), patience=max(50, (self.total or 1000) // 10))
        self.step, self.clock = 0, Clock(recipe.seconds, self.total, self.processes)
        if resume is not None:
            self._restore(resume)
        # A callback that looks every k steps sees the weights of those steps, not of the group's end.
        self.together = min([self.stepper.group, *(c.every for c in self.callbacks if hasattr(c, "every"))])
        self.group_seconds = GROUP_SECONDS_OF_SEVERAL if several else GROUP_SECONDS
        self.step_seconds = self.group_seconds / 2

    def run(self, bar: Shown, checkpoint: Path | None, checkpoint_seconds: float) -> list[Result]:
        """Groups of steps until every network has ended, then the measuring."""
        last_saved = time.monotonic()
        # Of several processes the first one writes.
        checkpoint = checkpoint if self.processes.rank == 0 else None
        try:
            # One watch over both, so that no signal falls between them.
            with interrupt.watch() as interruption, bar:
                while self._is_under_way():
                    if self.step > WARM_UP:
                        self.trainee.prepare()
                    losses = self._advance(bar)
                    self._look_for_divergence(losses, bar)
                    self._tell(losses, bar)
                    # A signal to one process ends all at the same step.
                    number = self.processes.largest(interruption.signal_number or 0)
                    if number and not self._all_diverged():
                        interruption.signal_number = number
                        self._stop(interruption, checkpoint, bar)
                    elif checkpoint is not None and time.monotonic() - last_saved > checkpoint_seconds:
                        self._save_if_possible(checkpoint, bar)
                        last_saved = time.monotonic()
                return self._measure(bar, checkpoint, interruption)
        finally:
            self.trainee.leave()

    def _is_under_way(self) -> bool:
        """Whether a network is left to train; those that the budget ends get this as their reason."""
        left = [course for course in self.courses if course.stopped is None]
        reason = None
        if self.total is not None and self.step >= self.total:
            reason = "finished"
        elif self.clock.is_over():
            reason = "the time is up"
        for course in left:
            course.stopped = reason
        return bool(left) and reason is None

    def _advance(self, bar: Shown) -> Tensor:
        """Take a group of steps and write its losses (steps, networks) into the histories."""
        recipe, optimiser, step = self.recipe, self.stepper.optimiser, self.step
        count = min(self.together, max(1, int(self.group_seconds / self.processes.agree(self.step_seconds))))
        count = count if self.total is None else min(count, self.total - step)
        multipliers = [recipe.schedule(self.clock.planned(step + i)) for i in range(count)]
        frozen = recipe.freeze_activations_from
        rates = [optimiser.rates(m, frozen is not None and step + i >= frozen) for i, m in enumerate(multipliers)]
        said = len(self.stepper.notes)
        began = time.monotonic()
        precision = at_step(recipe.precision, self.clock.planned(step))
        with self.execution.otherwise(precision).active():
            losses = self.stepper.advance(rates)
        took = time.monotonic() - began
        self.step_seconds = max(took / count, 1e-6)
        is_cuda = next(self.trainee.module.parameters()).is_cuda
        compiled = self.clock.count(took, is_cuda=is_cuda, is_warming_up=self.stepper.is_warming_up)
        for sentence in [*([compiled] if compiled else []), *self.stepper.notes[said:]]:
            bar.say(sentence)
        self.seconds = self.clock.elapsed()
        self.step += count
        for course, column in zip(self.courses, losses.unbind(1), strict=True):
            if course.stopped is None:
                course.steps = self.step
                course.history.extend(step, column.tolist(), multipliers, self.seconds)
        return losses

    def _look_for_divergence(self, losses: Tensor, bar: Shown) -> None:
        for network, trouble in self.divergence.look(self.step - len(losses), losses).items():
            course, best = self.courses[network], int(self.divergence.best_step[network])
            if course.stopped is not None:
                continue
            course.stopped = f"diverged at step {self.step - 1}: {trouble}; the weights of step {best} are kept"
            course.weights = self.divergence.weights(network)
            course.notes.append(course.stopped)
            if len(self.courses) == 1:
                bar.say(course.stopped)

    def _tell(self, losses: Tensor, bar: Shown) -> None:
        """Show progress, call the callbacks, and see which networks have reached the target."""
        left = [network for network, course in enumerate(self.courses) if course.stopped is None]
        if not left:
            return
        mean = losses[-1, left].double().mean().item()
        bar.update(self.step, mean, decibels(mean), self.seconds, self.clock.fraction(self.step))
        if not self.callbacks and self.recipe.target_db is None:
            return
        for network in left:
            course, module = self.courses[network], self.trainee.member(network)
            loss, name = course.history.loss[-1], self.names[network] if self.names else ""
            psnr = decibels(loss)
            state = State(
                self.step, self.total, loss, psnr, self.seconds, module, course.history, network=network, name=name
            )
            for callback in self.callbacks:
                callback(state)
            course.stopped = state.stopped or self._reached(network, psnr)
            if course.stopped is not None and len(self.courses) > 1:
                course.weights = [tensor.detach()[network].clone() for tensor in self.trainee.tensors()]

    def _reached(self, network: int, psnr: float) -> str | None:
        """A sentence if a network has reached the target over all points, which is measured now and then."""
        target, course = self.recipe.target_db, self.courses[network]
        if target is None or psnr < target or self.clock.elapsed() < course.confirm_after:
            return None
        began = self.clock.elapsed()
        predict = predictor(self.trainee.member(network), self.trainee.chunk(self.stepper.chunk), self.execution)
        # A task of the user's own may measure other things; its training loss then decides alone.
        task = self.trainee.tasks[network]
        measured = self.processes.agree(getattr(task, "confirm", task.evaluate)(predict).get("psnr", psnr))
        course.confirm_after = self.clock.elapsed() + 5 * (self.clock.elapsed() - began)
        return f"reached {measured:.2f} dB" if measured >= target else None

    def _stop(self, interruption: interrupt.Interruption, checkpoint: Path | None, bar: Shown) -> None:
        """End the training for a signal: by `Interrupted`, or, for Ctrl-C if wanted, with the current weights."""
        stop = self._interrupted(interruption, checkpoint, bar)
        if not (self.keep_when_stopped and stop.signal_number == signal.SIGINT):
            raise stop
        self.kept = stop.checkpoint
        bar.say(f"stopped after step {self.step}: measuring; Ctrl-C again leaves at once, {stop.checkpoint} is saved")
        for course in self.courses:
            course.stopped = course.stopped or "stopped by Ctrl-C"

    def _measure(self, bar: Shown, checkpoint: Path | None, interruption: interrupt.Interruption) -> list[Result]:
        """One fresh pass of each network over its points; interrupted, what was trained is kept."""
        seconds = self.clock.elapsed()
        for network, course in enumerate(self.courses):
            if course.weights is not None:
                self._put_back(network, course.weights)
        predicts = self.trainee.finish(self.recipe, self.trainee.chunk(self.stepper.chunk), self.execution)
        final = copy.deepcopy(self.trainee.module.state_dict()) if checkpoint is not None else {}
        notes = self.stepper.notes
        try:
            interruption.at_once = True
            if interruption.is_missed:
                self._leave_unless_diverged(interruption)
            finishing = [callback for callback in self.callbacks if hasattr(callback, "finish")]
            for callback in finishing:
                if hasattr(callback, "shown_by"):
                    callback.shown_by(bar)
            notes = [*(callback.finish(self.trainee.module) for callback in finishing), *notes]
            watched = getattr(bar, "watched", None)
            if watched is not None and len(predicts) == 1:
                task = self.trainee.task
                predicts = [watched(predicts[0], task.points, getattr(task, "pieces", None))]
            metrics = self.trainee.evaluate(predicts)
        except KeyboardInterrupt:
            if not interruption or self._all_diverged():
                raise
            interruption.at_once = False
            if self.kept is not None:
                raise interrupt.interrupted(interruption, self.kept, self.step, self.total) from None
            if checkpoint is not None:
                self.trainee.module.load_state_dict(final)
            raise self._interrupted(interruption, checkpoint, bar) from None
        return [
            Result(
                field,
                measures,
                course.history,
                self.recipe,
                self.seed,
                seconds,
                course.steps,
                str(course.stopped),
                [*course.notes, *notes],
                self.kept,
            )
            for field, measures, course in zip(self.fields, metrics, self.courses, strict=True)
        ]

    def _leave_unless_diverged(self, interruption: interrupt.Interruption) -> None:
        """Stop before the measuring; a fit that has diverged cannot be resumed, so Ctrl-C ends it as it would end."""
        if not self._all_diverged():
            raise KeyboardInterrupt
        if self.keep_when_stopped and interruption.signal_number == signal.SIGINT:
            interruption.take()

    def _put_back(self, network: int, weights: list[Tensor]) -> None:
        with torch.no_grad():
            for tensor, kept in zip(self.trainee.tensors(), weights, strict=True):
                tensor[network].copy_(kept)

    def _all_diverged(self) -> bool:
        return all((course.stopped or "").startswith("diverged") for course in self.courses)

    def _restore(self, saved: Checkpoint) -> None:
        """Put a single fit back where its checkpoint was taken."""
        stepper, (course,) = self.stepper, self.courses
        saved.restore(self.trainee.module, stepper.optimiser, stepper.batches, fingerprint(self.trainee.tasks[0]))
        callback_state.restore(self.callbacks, saved.callback_state)
        self.step, self.clock.before = saved.step, saved.elapsed
        course.history, course.steps = saved.history, saved.step
        course.notes, course.stopped = list(saved.notes), saved.stopped
        first = saved.history.loss[0] if saved.history.loss else math.nan
        best = [saved.best[name] for name in self.trainee.module.state_dict()]
        self.divergence.resume(first, saved.best_loss, saved.best_step, best)

    def _save(self, path: Path) -> None:
        """Write the checkpoint of a single fit."""
        module, stepper, (course,) = self.trainee.module, self.stepper, self.courses
        generator, position = stepper.batches.state()
        Checkpoint(
            step=self.step,
            seed=self.seed,
            elapsed=self.clock.elapsed(),
            recipe=self.recipe,
            fingerprint=fingerprint(self.trainee.tasks[0]),
            architecture=getattr(module, "architecture", None),
            history=course.history,
            field=module.state_dict(),
            best=dict(zip(module.state_dict(), self.divergence.weights(0), strict=True)),
            best_loss=self.divergence.best[0].item(),
            best_step=int(self.divergence.best_step[0]),
            optimiser=stepper.optimiser.tensors(),
            generator=generator,
            position=position,
            chunk=stepper.chunk,
            notes=course.notes + stepper.notes,
            callback_state=callback_state.gather(self.callbacks),
            stopped=course.stopped,
            about=self.trainee.tasks[0].metadata(),
        ).save(path)

    def _save_if_possible(self, path: Path, bar: Shown) -> None:
        try:
            self._save(path)
        except WriteError as error:
            # A disk that has filled up must not cost the fit; it may have room again by the end.
            bar.say(f"no checkpoint: {error.strerror}")

    def _interrupted(
        self, interruption: interrupt.Interruption, path: Path | None, bar: Shown
    ) -> interrupt.Interrupted:
        """Save a single fit, elsewhere if need be, and say how to continue."""
        if path is not None:
            try:
                self._save(path)
            except WriteError as error:
                bar.say(str(error.strerror))
                path = Path(tempfile.mkdtemp(prefix="staf-")) / path.name
                self._save(path)
        return interrupt.interrupted(interruption, path, self.step, self.total)
