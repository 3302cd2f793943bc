"""How a fit was made: config.json, and the commands that repeat it."""

from __future__ import annotations

import os
import platform
import pprint
import shlex
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from typing import TYPE_CHECKING

import torch

from staf._documents import Document
from staf._messages import counted
from staf.nn.networks import model_of
from staf.planning.plans import NetworkFactory

if TYPE_CHECKING:
    from staf.api import Fit

# Topics of a plan that are about the network it chose.
NETWORK_TOPICS = ("network", "constants", "first_frequency", "activation")
# The plan of a run that continues another; the words that asked for it begin with the other run's folder.
CONTINUED = "continued"
PACKAGES = ("staf", "torch", "numpy", "safetensors", "pillow", "scikit-image")


def configuration(fit: Fit) -> Document:
    """Model, recipe, seed, signal, plan, versions and machine, JSON-able."""
    signal = None
    if fit.signal is not None:
        signal = {key: value for key, value in fit.signal.metadata().items() if key != "profile"}
        signal["source"] = fit.signal.source
    return {
        "architecture": getattr(fit.module, "architecture", None),
        "seed": fit.result.seed,
        "recipe": fit.recipe.to_plain(),
        "task": fit.field.metadata.get("task"),
        "sampling": fit.field.metadata.get("sampling"),
        "signal": signal,
        "plan": {"name": fit.plan.name, "reasons": reasons(fit)},
        "notes": list(fit.notes),
        "device": device_name(fit.device),
        "versions": versions(),
        "reproduce": {"command": command(fit), "python": python(fit), "signal_options": signal_options(fit)},
    }


def reasons(fit: Fit) -> list[str]:
    """Why the fit was made so: the plan's own reasons, less those for what was given and not chosen."""
    given, chosen = [], dict(fit.plan.reasons)
    if not fit.from_seed and fit.plan.name != CONTINUED:
        given.append("the network was given, not chosen")
        chosen = {topic: reason for topic, reason in chosen.items() if topic not in NETWORK_TOPICS}
    budget = {"steps": None, "epochs": None, "seconds": 1.0, "target_db": None}
    if fit.recipe.replace(**budget) != fit.plan.recipe.replace(**budget):
        given.append("the recipe was given, not chosen")
        chosen = {}
    return [*given, *chosen.values()]


def versions() -> dict[str, str]:
    """The versions that a result may depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def device_name(device: str) -> str:
    """A device in words.

    >>> device_name("cpu").startswith("cpu (")
    True
    """
    if torch.device(device).type == "cuda" and torch.cuda.is_available():
        return f"{device} ({torch.cuda.get_device_name(device)})"
    cores, threads = counted(os.cpu_count() or 1, "core"), counted(torch.get_num_threads(), "thread")
    return f"{device} ({_processor()}, {cores}, {threads})"


def command(fit: Fit) -> str | None:
    """The command that repeats a fit, or None where only Python can: a foreign network, an array, another recipe."""
    source = getattr(fit.signal, "source", None)
    architecture = getattr(fit.module, "architecture", None)
    if source is not None and fit.plan.name == CONTINUED:
        return shlex.join(["staf", "fit", str(source), *fit.plan.asked])
    if source is None or architecture is None or fit.plan.recipe != fit.recipe or not fit.from_seed:
        return None
    options = signal_options(fit)
    if options is None:
        return None
    words = ["staf", "fit", str(source), "--model", model_of(architecture), "--seed", str(fit.result.seed)]
    for flag, value in (("--steps", fit.recipe.steps), ("--seconds", fit.recipe.seconds)):
        if value is not None:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    if fit.recipe.target_db is not None:
        words += ["--target-db", f"{fit.recipe.target_db:g}"]
    words += [*options, *fit.plan.asked]
    words += ["--device", torch.device(fit.device).type]
    return shlex.join(words)


def signal_options(fit: Fit) -> list[str] | None:
    """What `staf fit` is told of the signal beside its file; None where no command opens the same one."""
    if getattr(fit.signal, "source", None) is None or not _default_task(fit):
        return None
    return fit.signal.view.command_options(fit.field.metadata)


def python(fit: Fit) -> str:
    """The Python that repeats a fit, every constant spelled out."""
    opened = fit.signal.view.python(fit.field.metadata) if _default_task(fit) else "your_task"
    architecture = getattr(fit.module, "architecture", None)
    seed = fit.result.seed
    if fit.plan.name == CONTINUED:
        field = f"staf.load({str(PurePath(fit.plan.asked[1]) / 'model.safetensors')!r})"
    elif architecture is None:
        field = "your_module"
    else:
        arguments = dict(architecture["arguments"])
        first = f"{arguments.pop('in_features')}, {arguments.pop('out_features')}"
        rest = "".join(f",\n    {name}={_literal(value)}" for name, value in arguments.items())
        generator = f"torch.Generator().manual_seed({seed})"
        given = f"{first}{rest},\n    generator={generator}"
        field = f"staf.{architecture['name']}(\n    {given},\n){_changes(fit)}"
    recipe = pprint.pformat(fit.recipe.to_plain(), width=100, sort_dicts=False)
    return (
        f"import staf\nimport torch\n\nfield = {field}\nrecipe = staf.Recipe.from_plain(\n{_indent(recipe)}\n)\n"
        f"fit = staf.fit({opened}, field=field, recipe=recipe, seed={seed}, device={fit.device!r})\n"
        'print(fit.metrics["psnr"])\n'
    )


def _changes(fit: Fit) -> str:
    """What the plan changed in the first layer of its new network, a line each."""
    factory = fit.plan.field_factory
    if not fit.from_seed or not isinstance(factory, NetworkFactory):
        return ""
    layer = f"staf.nn.networks.NETWORKS[{factory.spec.name!r}].first_layer"
    lines = []
    for start in (one for one in factory.starts if isinstance(one, partial)):
        given = ", ".join(f"{name}={value!r}" for name, value in start.keywords.items())
        lines.append(f"\n{layer}.{start.func.__name__}(field, {given})")
    return "".join(lines)


def _default_task(fit: Fit) -> bool:
    """Whether the fit solved the default task of its signal."""
    return fit.signal is not None and fit.field.metadata.get("task") == fit.signal.view.default_task


def _literal(value: object) -> str:
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
