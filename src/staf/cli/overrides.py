"""Options of `staf fit` that replace single choices of the plan; everything else is planned as before."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from tyro.conf import UseAppendAction, arg

from staf._documents import Document, read_json
from staf._messages import counted
from staf.cli.errors import UserError, did_you_mean
from staf.cli.options import check_counts
from staf.kinds.options import Count, Number

if TYPE_CHECKING:
    from staf.nn.networks import NetworkSpec
    from staf.planning import Plan
    from staf.planning.situation import Rule
    from staf.signals.base import Signal
    from staf.training.task import Task

Name = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
ARGUMENTS = ("width", "depth", "terms", "omega0")
BUDGET = ("steps", "epochs", "seconds", "target_db")


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Parts of the plan that the user decides."""

    width: Count = None
    """Number of neurons in each layer."""
    depth: Count = None
    """Number of activated layers."""
    terms: Count = None
    """Number of sinusoids in each activation (staf)."""
    omega0: Number = None
    """Frequency of the first layer (default: from the spectrum of the signal)."""
    rate: Number = None
    """Learning rate."""
    batch: Count = None
    """Number of points in each step."""
    optimiser: Name = None
    """adam, muon or soap, each with its own schedule."""
    precision: Name = None
    """Precision of matrix products on a GPU: fp32, tf32, bf16x3 or tf32-then-bf16x3."""
    threads: Count = None
    """Number of CPU threads."""
    config: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Use the network, recipe and seed in the config.json of another run."""
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE", help_behavior_hint="")] = ()
    """Set any other argument of the network or entry of the recipe; can be given several times."""

    def words(self) -> tuple[str, ...]:
        """The same as words of a command line."""
        given: list[str] = [] if self.config is None else ["--config", str(self.config)]
        for name in (*ARGUMENTS, "rate", "batch", "optimiser", "precision"):
            value = getattr(self, name)
            if value is not None:
                given += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
        for pair in self.set:
            given += ["--set", pair]
        return tuple(given)

    def use_threads(self) -> None:
        """Set the number of threads of this process."""
        if self.threads is None:
            return
        check_counts(threads=self.threads)
        import torch

        torch.set_num_threads(self.threads)


def planned(
    options: Overrides, source: Signal | Task, plan: Plan, rerun: Callable[[Mapping[str, Rule | None]], Plan]
) -> Plan:
    """The plan with the user's choices in it; `rerun(rules)` makes the plan again by rules that replace topics."""
    words = options.words()
    if not words:
        return plan
    if options.config is not None:
        plan = plan_of_file(options.config, source)
    arguments, entries = _split(options, plan)
    if options.config is None:
        rules = _rules(options, arguments, entries)
        plan = rerun(rules)
    else:
        factory = plan.field_factory
        merged = {**factory.arguments, **arguments}  # type: ignore[attr-defined]
        plan = dataclasses.replace(
            plan,
            field_factory=dataclasses.replace(factory, arguments=merged),  # type: ignore[type-var]
            recipe=plan.recipe.replace(**entries),
        )
    return dataclasses.replace(plan, asked=words)


def config_seed(path: Path | None) -> int | None:
    """The seed of a config.json, where one is given."""
    return None if path is None else int(read_config(path)["seed"])


def config_model(path: Path | None) -> str | None:
    """The network of a config.json, where one is given; of a scene the one whose layers it is made of."""
    from staf.nn.networks import SCENE_NETWORKS, model_of

    if path is None:
        return None
    architecture = read_config(path)["architecture"]
    try:
        return model_of(architecture) if architecture["name"] in SCENE_NETWORKS else str(architecture["name"])
    except (KeyError, TypeError):
        raise UserError(f"{path} is of no network with known layers: {str(architecture)[:100]}") from None


def plan_of_file(path: Path, source: Signal | Task) -> Plan:
    from staf.nn.networks import SCENE_NETWORKS, network_named
    from staf.planning import Plan
    from staf.planning.plans import NetworkFactory
    from staf.training import Recipe

    about = read_config(path)
    arguments = dict(about["architecture"]["arguments"])
    sizes = (arguments.pop("in_features"), arguments.pop("out_features"))
    if sizes != (source.in_features, source.out_features):
        raise UserError(
            f"{path} is of a field from {sizes[0]} coordinates to {sizes[1]} values, and the signal has "
            f"{source.in_features} and {source.out_features}"
        )
    try:
        name, recipe = about["architecture"]["name"], Recipe.from_plain(about["recipe"])
        spec = SCENE_NETWORKS[name] if name in SCENE_NETWORKS else network_named(name)
        factory = NetworkFactory(
            spec, *sizes, {k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()}
        )
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None
    return Plan(factory, recipe, {"config": f"network and recipe of {path}"}, "config")


def read_config(path: Path) -> Document:
    """The config.json of a run, checked."""
    try:
        about = read_json(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path} is not JSON: --config takes the config.json of a run") from None
    parts = about if isinstance(about, dict) else {}
    network = parts.get("architecture")
    arguments = network.get("arguments") if isinstance(network, dict) and "name" in network else None
    sized = isinstance(arguments, dict) and "in_features" in arguments and "out_features" in arguments
    if not (sized and isinstance(parts.get("recipe"), dict) and isinstance(parts.get("seed"), int)):
        raise UserError(f"{path} names no network, recipe and seed: --config takes the config.json of a run")
    return cast("Document", about)


def _split(options: Overrides, plan: Plan) -> tuple[Document, Document]:
    """What was asked for, as arguments of the network and as entries of the recipe."""
    from staf.training import Recipe

    spec: NetworkSpec = plan.field_factory.spec  # type: ignore[attr-defined]
    known = [name for name in inspect.signature(spec.factory).parameters if name not in _NOT_SET]
    recipe = [f.name for f in dataclasses.fields(Recipe) if f.name != "schedule"]
    arguments = {name: getattr(options, name) for name in ARGUMENTS if getattr(options, name) is not None}
    entries: Document = {}
    if options.rate is not None:
        entries |= {"rate": options.rate, "matrix_rate": options.rate}
    for name in ("batch", "optimiser", "precision"):
        if getattr(options, name) is not None:
            entries[name] = getattr(options, name)
    for pair in options.set:
        key, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"--set takes KEY=VALUE, got {pair!r}")
        if key in known:
            arguments[key] = _value(text)
        elif key in BUDGET:
            raise UserError(f"--set {key}: the budget has options of its own, --steps, --seconds and --target-db")
        elif key in recipe:
            entries[key] = _value(text)
        else:
            near = did_you_mean(key, [*known, *recipe])
            entries_of_recipe = ", ".join(name for name in recipe if name not in BUDGET)
            raise UserError(
                f"--set {key}: neither {spec.name} nor the recipe has it{near} "
                f"({spec.name} has {', '.join(known)}; the recipe has {entries_of_recipe})"
            )
    for name in arguments:
        if name not in known:
            raise UserError(f"--{name}: the network {spec.name} has no {name}; it has {', '.join(known)}")
    return arguments, entries


_NOT_SET = ("in_features", "out_features", "generator", "device", "dtype")


def _value(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return tuple(found) if isinstance(found, list) else found


def _rules(options: Overrides, arguments: Document, entries: Document) -> dict[str, Rule | None]:
    """Rules that replace the topics of what was asked for, so that what depends on them follows."""
    from staf.planning.rules import OPTIMISER_ENTRIES, learning_rate, muon, soap
    from staf.planning.situation import Choice, Situation

    rules: dict[str, Rule | None] = {}
    if options.batch is not None:
        size = options.batch
        check_counts(batch=size)
        rules["batch"] = lambda s: Choice(
            f"steps of {min(size, s.points):,} of the {s.points:,} points, as asked",
            recipe={"batch": None if size >= s.points else size},
        )
    if options.rate is not None:
        rules["rate"] = lambda s: learning_rate(entries["rate"], "as asked")
    if options.optimiser is not None:
        name = options.optimiser

        def optimiser(s: Situation) -> Choice:
            usual = soap(s) if name == "soap" else muon(s)
            return Choice(f"{name}, as asked", {**{k: usual.recipe[k] for k in OPTIMISER_ENTRIES}, "optimiser": name})

        rules["optimiser"] = optimiser
    if "omega0" in arguments:
        rules["first_frequency"] = lambda s: Choice(f"omega0 {arguments['omega0']:g} in the first layer, as asked")
    if "width" in arguments or "depth" in arguments:

        def network(s: Situation) -> Choice:
            depth, width = arguments.get("depth", 4), arguments.get("width", 256)
            inputs, outputs = counted(s.in_features, "coordinate"), counted(int(s.source.out_features), "value")
            layers = counted(int(depth), "activated layer")
            return Choice(f"model {s.spec.name}: {inputs} to {outputs}, {layers} of {width}, as asked")

        rules["network"] = network
    told = [f"{key}={value}" for key, value in arguments.items() if key not in ("width", "depth", "omega0")]
    told += [f"{key}={value}" for key, value in entries.items() if key not in ("rate", "matrix_rate", *rules)]
    left = {key: value for key, value in entries.items() if key not in rules and key != "matrix_rate"}
    if options.rate is None and "matrix_rate" in entries:
        left["matrix_rate"] = entries["matrix_rate"]
    # The last topic of the table, so that it wins.
    rules["asked"] = lambda s: Choice(f"{', '.join(told)}, as asked" if told else "", recipe=left, arguments=arguments)
    return rules
