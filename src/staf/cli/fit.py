"""`staf fit FILE`: fit a field, and leave a folder with the model, the reconstruction and a report."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.continuing import CONFIG, FLAG, Earlier, earlier, kind_continued
from staf.cli.errors import UserError, edge
from staf.cli.finish_time import finish_note
from staf.cli.fit_summary import tell_fit
from staf.cli.kinds import DEFAULT, kind_of, options_of
from staf.cli.options import MODEL_NAMES, FitOptions, Flag
from staf.cli.outputs import MEBIBYTE, default_folder, prepare_folder
from staf.cli.overrides import Overrides, config_model, config_seed, plan_of_file, planned
from staf.cli.resuming import CHECKPOINT, check_folder, finishing, interrupted, left_at_once, resumed
from staf.cli.terminal import Terminal
from staf.kinds.options import FitKind

if TYPE_CHECKING:
    from staf.api import Fit as FitResult
    from staf.planning import Budget, Plan
    from staf.planning.situation import Rule
    from staf.signals.base import Signal
    from staf.training.task import Task
    from staf.viewer import LiveView


@dataclass(frozen=True, kw_only=True)
class FitShared(Overrides, FitOptions):
    """Options of `staf fit` for every kind of signal."""

    file: Annotated[Positional[Path | None], arg(metavar="FILE", help_behavior_hint="")] = None
    """The signal: an image, recording, mesh, point cloud, video, array or scan, or the folder of a scene."""
    continue_: Annotated[Path | None, arg(name="continue", metavar="RUN", help_behavior_hint="")] = None
    """Train a finished run further; --steps +1000 adds 1000 steps. FILE is not needed."""
    view: Flag = False
    """Show the fit in the browser during training, with a button to stop it."""
    model: Annotated[str, arg(metavar="NAME", help=f"The network: {', '.join(MODEL_NAMES)}.")] = "staf"
    quiet: Flag = False
    """Print only errors and notes."""
    verbose: Flag = False
    """Print the plan with its reasons, the whole recipe, and every file that is written."""


class Fit(FitKind, FitShared):
    """What `options_for` gives: the options of a kind and the shared ones."""


def options_for(words: Sequence[str]) -> type[FitShared]:
    """The options for the kind of file that `words` name."""
    return options_of("Fit", kind_of(words, kind_continued(words, DEFAULT)), FitKind, FitShared)


def run(options: Fit, terminal: Terminal) -> int:
    """Fit, write the run folder, say how good it is; of several processes that torchrun started, the first one does."""
    from staf.training.processes import several_processes

    with several_processes() as processes:
        if options.view and processes.world > 1:
            # Its button would stop one process, and the others would wait for it.
            raise UserError("--view is for one process: leave it out with torchrun")
        return _run(options, terminal, first=processes.rank == 0)


def _run(options: Fit, terminal: Terminal, *, first: bool) -> int:
    from staf.reports.run_folder import existing
    from staf.training.processes import own_device

    if options.quiet and options.verbose:
        raise UserError("--quiet and --verbose contradict each other: give one of them")
    run = None if options.continue_ is None else earlier(options.continue_)
    options = _with_config(options, run)
    if options.file is None:
        raise UserError(f"FILE is missing (see {terminal.command[0]} fit --help)")
    options.use_threads()
    terminal.quiet = options.quiet
    signal = options.open(options.file)
    device = own_device(options.device_name())
    folder = default_folder(signal.name, options.model) if run is None else run.out(options.steps)
    folder = options.out or folder
    checkpoint = folder / CHECKPOINT
    seed, budget = options.seed or 0, options.budget()
    # Values of --set are of any type.
    with edge(*(TypeError,) * bool(options.set)):
        trial = _planned(options, signal, budget, device, run).field(seed)
    if first:
        check_folder(options, folder, "a fit" if existing(folder) else None)
    if options.resume:
        seed, budget = resumed(options, options.model, checkpoint)
    with edge():
        source, reason = options.problem(signal, seed)
        if run is not None:
            run.check(cast("Signal", getattr(source, "signal", source)))
        hint = options.resume_hint()
        if options.resume and hint is not None:
            _check_same_data(source, checkpoint, hint)
        plan = _planned(options, source, budget, device, run)
    if reason is not None:
        plan.reasons["sampling"] = reason
    if not first:
        _fit(options, terminal, source, plan, seed, device, checkpoint, None, run, shown=False)
        return 0
    if options.explain or options.verbose:
        terminal.explain(f"{signal!r} on {device}:", plan.reasons.values())
    elif "size" in plan.reasons:
        terminal.note(f"note: {plan.reasons['size']}")
    if options.verbose:
        terminal.note(f"recipe: {json.dumps(plan.recipe.to_plain())}")
    prepare_folder(folder, 8 * MEBIBYTE + 4 * signal.nbytes)
    if options.progress and not options.quiet and (note := finish_note(signal.as_planned(plan.recipe), trial, device)):
        terminal.note(f"note: {note}")
    if options.overwrite and not options.resume:
        checkpoint.unlink(missing_ok=True)
    with _live(options, terminal, signal, plan) as live:
        fit = _fit(options, terminal, source, plan, seed, device, checkpoint, live, run)
        if live is not None:
            live.done(fit.field)
        with finishing(fit, folder, terminal):
            files = _write(fit, folder, overwrite=options.overwrite or options.resume)
            tell_fit(terminal, fit, folder, files, file=options.file, model=options.model, verbose=options.verbose)
    return 0


def _with_config(options: Fit, run: Earlier | None) -> Fit:
    """The options with the network and the seed of --config, or of the run that is continued, where they are not given.

    A continued run also says how its signal was opened.
    """
    if run is not None and (given := options.words()):
        raise UserError(f"{FLAG} trains the network of a run by its own recipe: leave {given[0]} out")
    config, flag = (options.config, "--config") if run is None else (run.folder / CONFIG, FLAG)
    model, seed = config_model(config), config_seed(config)
    if model is None:
        return options
    if options.model not in ("staf", model):
        raise UserError(f"{flag} is of {model}: leave --model {options.model} out")
    changes: Document = {"model": model, "seed": seed if options.seed is None else options.seed}
    if run is not None:
        changes["file"] = run.source() if options.file is None else options.file
        opened = run.signal_options(changes["file"])
        changes |= {name: value for name, value in opened.items() if _is_default(options, name)}
    return dataclasses.replace(options, **changes)


def _is_default(options: Fit, name: str) -> bool:
    return getattr(options, name) == type(options).__dataclass_fields__[name].default


def _planned(options: Fit, source: Signal | Task, budget: Budget, device: str, run: Earlier | None) -> Plan:
    """The plan for a signal or a task, with what the user decides of it; or that of the run that is continued."""
    from staf.planning import plan as make_plan

    if run is not None:
        return run.plan(plan_of_file(run.folder / CONFIG, source), budget)

    def again(rules: Mapping[str, Rule | None] | None = None) -> Plan:
        return make_plan(source, budget, device=device.split(":")[0], model=options.model, rules=rules)

    plan = planned(options, source, again(), again)
    limits = {name: getattr(budget, name) for name in ("steps", "seconds", "target_db")}
    return dataclasses.replace(plan, recipe=plan.recipe.limited(**limits))


def _check_same_data(source: Signal | Task, checkpoint: Path, hint: str) -> None:
    """Refuse to resume with other data than the interrupted fit was started with, and name the options that choose."""
    from staf.storage import read_header
    from staf.tasks import task_for
    from staf.training import Recipe, Task
    from staf.training.checkpoint import fingerprint

    about = read_header(checkpoint).metadata
    recipe = Recipe.from_plain(about["recipe"])
    task = source if isinstance(source, Task) else task_for(source.as_planned(recipe), recipe.convention)
    mark = fingerprint(task)
    if about.get("fingerprint", mark) != mark:
        raise UserError(hint)


@contextlib.contextmanager
def _live(options: Fit, terminal: Terminal, signal: Signal, plan: Plan) -> Iterator[LiveView | None]:
    """The page that shows the fit, if it is wanted."""
    if not options.view:
        yield None
        return
    from staf.viewer import LiveView
    from staf.viewer.payload import MOST_COORDINATES

    if plan.field(0).in_features > MOST_COORDINATES:  # type: ignore[operator]
        raise UserError(
            f"--view shows fields of up to {MOST_COORDINATES} coordinates: leave it out for a {signal.kind}"
        )
    with LiveView(signal, convention=plan.recipe.convention) as live:
        terminal.note(f"live view: {live.address}")
        yield live


def _fit(
    options: Fit,
    terminal: Terminal,
    source: Signal | Task,
    plan: Plan,
    seed: int,
    device: str,
    checkpoint: Path,
    live: LiveView | None,
    run: Earlier | None,
    *,
    shown: bool = True,
) -> FitResult:
    from staf.api import fit
    from staf.training import Interrupted

    try:
        done = fit(
            source,
            field=None if run is None else run.field,
            plan=plan,
            seed=seed,
            device=device,
            progress=None if options.progress and not options.quiet and shown else False,
            checkpoint=checkpoint,
            resume=checkpoint if options.resume else None,
            callbacks=() if live is None else live,
            keep_when_stopped=True,
        )
    except Interrupted as stop:
        raise interrupted(stop, checkpoint, terminal) from None
    except KeyboardInterrupt as stop:
        raise left_at_once(stop, checkpoint, terminal) from None
    if run is not None:
        run.extend(done)
    return done


def _write(fit: FitResult, folder: Path, *, overwrite: bool) -> dict[str, str]:
    from staf.reports import write_run

    paths = write_run(fit, folder, overwrite=overwrite)
    names = ("model", "reconstruction", "history", "metrics", "config", "report")
    return {name: str(path) for name in names if (path := getattr(paths, name)) is not None}
