"""The rules that every plan starts from, one small function for each topic.

`RULES` is the table. A kind of signal or a task adds topics, or replaces them, by its method `plan_rules()`; None
instead of a rule removes the topic. What differs between networks is not here but in the `NetworkSpec` of each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from staf._documents import Document
from staf._messages import counted
from staf.nn.networks.spec import EVERY, Constants
from staf.planning import capacity, first_frequency, recipes
from staf.planning.situation import Choice, Rule, Situation

# On a CPU many cheap steps gain more per second than a few expensive ones. On a GPU a step sees all points, except of
# volumes: those have up to 10^8 points, most of them far from the surface and soon learnt.
CPU_BATCH = 2**13
VOLUME_BATCH = 2**18
# Pictures of more pixels are trained by mini-batches too: 12 megapixels for 30 seconds on an H200 end at 30.6 dB when
# every step sees all of them, and at 37.2 dB by steps of 262,144.
WHOLE_PICTURE = 2**20
# Steps of a fit whose budget leaves them open.
CPU_STEPS, GPU_STEPS = 600, 1000
# Pictures of at least this many pixels, seen whole, are trained by SOAP. Small ones have far fewer values than the
# network has weights, and there Muon ends higher: 32x32 pixels, 150 steps, Muon 68 dB, SOAP 63 dB at the best of 7.
SOAP_POINTS = 2**15
# Fewer steps leave SOAP no time to rise: kodim03 and kodim13, STAF, 200 steps, SOAP at its best of three rates ends at
# 49.0 and 41.7 dB, Muon at 49.8 and 44.6.
SOAP_STEPS = 300
# So few steps of full batches need less momentum in Muon (docs/recipes-evidence.md has the measurement).
MOMENTUM_STEPS = 100
# Seconds of training for each point that hold so many steps on a GPU ten times slower than an H200.
SOAP_SECONDS = 1e-4
# Pictures of at most this many pixels, seen whole, get lower rates: their values are far fewer than the weights, and
# what large steps do to the rest is noise between the pixels.
SMALL_POINTS = 2**13
# So many steps have the time for small rates, with pictures below SOAP_POINTS too. kodim13 at 128x128, 250 steps, at
# the pixels and between them: STAF at 3e-3 68.1 and 27.9 dB, at 1e-3 68.9 and 29.3, at 5e-4 74.3 and 32.2; SIREN and
# FINER gain as much by 5e-4 over 1e-3 (docs/recipes-evidence.md).
SMALL_STEPS = 150
# Muon's rates on pictures suit layers of 128 and 256. Narrower networks want more: at least 0.128 / width, and no more
# than 4e-3 for that. Photos at 32x32 to 128x128 by STAF, SIREN and FINER of width 16 to 64 end 1 to 12 dB higher, and
# at 8e-3 some fits fail (docs/recipes-evidence.md). The width is read from the number of parameters: that of four
# layers of 128.
NARROW_PARAMETERS, NARROW_RATE, MOST_NARROW_RATE = 50_000, 1e-3, 4e-3
# Mini-batches are noisy. With 400 steps of 8,192 pixels on eight 256x256 photos, STAF at 1.5e-3 ends at 44.6 dB in the
# mean and 41.5 on the worst photo; at 3e-3 two of the eight end below 20 dB.
MINI_BATCH_FACTOR = 0.5
# Fewer steps of mini-batches on a CPU want higher rates. SIREN at 5e-4, 1e-3 and 2e-3 on two photos ends at 17.3, 22.2
# and 24.2 dB after 30 steps, and at 35.2, 37.4 and 26.1 dB after 200; all networks in docs/results/data/cpu-rates.csv.
FEW_STEPS = 100
FEW_SECONDS = 20.0
SMALL_REASON = "small, so that few pixels do not become noise between them"
# What an optimiser decides of a recipe.
OPTIMISER_ENTRIES = ("optimiser", "schedule", "amplitude_rate", "frequency_rate", "phase_rate")


def network(s: Situation) -> Choice:
    """Which network, and how large."""
    inputs, outputs = counted(s.in_features, "coordinate"), counted(int(s.source.out_features), "value")
    return Choice(f"model {s.spec.name}: {inputs} to {outputs}, {s.spec.layers}")


def constants(s: Situation) -> Choice:
    """The network's constants for signals of this kind."""
    own = [s.spec.constants.get(key, Constants()) for key in (EVERY, getattr(s.signal, "kind", ""))]
    arguments: Document = {}
    for part in own:
        arguments |= part.of(s.signal)
    return Choice("; ".join(part.reason for part in own if part.reason), arguments=arguments)


def activation(s: Situation) -> Choice:
    """How the activation starts."""
    # The arguments of the other topics; this one chooses none.
    chosen = s.arguments_without("activation", "size")
    return Choice(s.spec.start(chosen) if s.spec.start is not None else "")


def activation_rates(s: Situation) -> Choice:
    """How fast trained sinusoids learn."""
    if not s.spec.trained_activation:
        return Choice()
    c, omega, phi = (f"{s['optimiser'].recipe[f'{part}_rate']:g}" for part in ("amplitude", "frequency", "phase"))
    rates = f"{c} times" if c == omega == phi else f"{c}, {omega} and {phi} times"
    return Choice(f"C, Omega and Phi learn {rates} as fast as the other weights")


def muon(s: Situation) -> Choice:
    """Muon on hidden matrices, where they are real, and Adam."""
    reason = "Muon on the hidden matrices, Adam on the rest: worth more than any choice of activation"
    if s.spec.complex_weights:
        reason = "Adam alone, because the weights are complex"
    ours = recipes.default()
    return Choice(reason, recipe={name: getattr(ours, name) for name in OPTIMISER_ENTRIES})


def soap(s: Situation) -> Choice:
    """SOAP on all matrices, and Adam."""
    ours = recipes.full_batch()
    return Choice(
        "SOAP on the matrices, Adam on the rest: worth more than any choice of activation",
        recipe={name: getattr(ours, name) for name in OPTIMISER_ENTRIES},
    )


def adam(s: Situation) -> Choice:
    """Adam on everything, which suits small decoders behind a hash grid."""
    ours = recipes.default().replace(optimiser="adam")
    return Choice(
        "Adam, at 0.01 on the grid's table: a small decoder gains little by anything else",
        recipe={name: getattr(ours, name) for name in OPTIMISER_ENTRIES},
    )


def optimiser(s: Situation) -> Choice:
    """Adam for hash grids; SOAP for large images seen whole, if there are enough steps; otherwise Muon."""
    if s.spec.grid:
        return adam(s)
    if is_large_picture(s) and is_long(s):
        return soap(s)
    chosen = muon(s)
    if s.spec.complex_weights or not has_few_steps(s):
        return chosen
    less = {**chosen.recipe, "momentum": recipes.few_steps().momentum}
    return Choice(f"{chosen.reason}; less momentum for few steps", recipe=less)


def rate(s: Situation) -> Choice:
    """The learning rate of all weights."""
    rates = s.spec.rates
    if uses_soap(s):
        return learning_rate(rates.soap, found_for(s))
    if is_large_picture(s) and rates.short is not None:
        return learning_rate(rates.short, "for few steps")
    seen_whole = s.batch is None and s.in_features == 2
    has_time = is_long(s) if s.steps is None else s.steps >= SMALL_STEPS
    if seen_whole and s.points <= SMALL_POINTS and rates.small is not None:
        few, many = rates.small
        return by_width(s, many if has_time else few, SMALL_REASON)
    if seen_whole and s.points < SOAP_POINTS and has_time and rates.medium is not None:
        return by_width(s, rates.medium, SMALL_REASON)
    if s.batch is not None and s.on_cpu and s.in_features == 2 and rates.mini_batch is not None:
        few, many = rates.mini_batch
        chosen, length = (few, "few") if is_short(s) else (many, "many")
        return by_width(s, chosen, f"searched for {s.spec.name} as for every network, for {length} steps on a CPU")
    if seen_whole and not s.spec.grid:
        return by_width(s, rates.full_batch, found_for(s))
    return usual_rate(s)


def by_width(s: Situation, value: float, why: str) -> Choice:
    """Muon's rate for images: `value`, or more for networks that are narrower than 128."""
    if s.spec.complex_weights:
        return learning_rate(value, why)
    parameters = s.parameters("rate", "size", "activation")
    narrow = min(MOST_NARROW_RATE, NARROW_RATE * math.sqrt(NARROW_PARAMETERS / parameters))
    if parameters >= NARROW_PARAMETERS or narrow <= value:
        return learning_rate(value, why)
    return learning_rate(float(f"{narrow:.2g}"), f"because {parameters:,} parameters are a narrow network")


def usual_rate(s: Situation) -> Choice:
    """The rate of Adam and Muon for a network of any size, without what was found for images of one size."""
    if s.batch is not None:
        halved = f"{found_for(s)} halved, because mini-batches are noisy"
        return learning_rate(s.spec.rates.full_batch * MINI_BATCH_FACTOR, halved)
    return learning_rate(s.spec.rates.full_batch, found_for(s))


def precision(s: Situation) -> Choice:
    """The precision of matrix products, which is float32 on a CPU in any case."""
    if s.spec.grid:
        reason = "" if s.on_cpu else "products in tf32 for the first half of the fit, then in split bfloat16"
        return Choice(reason, recipe={"precision": "tf32-then-bf16x3"})
    reason = "" if s.on_cpu else "hidden products in split bfloat16: the quality of float32 in less time"
    return Choice(reason, recipe={"precision": "bf16x3"})


def batch(s: Situation) -> Choice:
    """How many points a step sees."""
    if s.spec.grid:
        largest = capacity.BATCH["cpu" if s.on_cpu else "cuda"]
    elif s.on_cpu:
        largest = CPU_BATCH
    else:
        largest = VOLUME_BATCH if s.in_features > 2 or s.points > WHOLE_PICTURE else s.points
    if s.points <= largest:
        # What mixes all samples, such as projections, is one point.
        seen = f"all {s.points:,} points" if s.points > 1 else "all that is observed"
        return Choice(f"every step sees {seen}", recipe={"batch": None})
    reason = f"steps of {largest:,} of the {s.points:,} points: many cheap steps gain more per second"
    return Choice(reason, recipe={"batch": largest})


def budget(s: Situation) -> Choice:
    """What ends the fit."""
    asked, steps = s.budget, s.budget.steps
    if steps is None and asked.seconds is None:
        steps = capacity.default_steps(s) if s.spec.grid else CPU_STEPS if s.on_cpu else GPU_STEPS
    in_steps = "" if steps is None else counted(steps, "step")
    in_seconds = "" if asked.seconds is None else f"{asked.seconds:g} second{'' if asked.seconds == 1 else 's'}"
    if in_steps and in_seconds:
        reason = f"{in_steps} or {in_seconds} of training, whichever comes first"
    elif in_seconds:
        reason = f"the schedule runs over {in_seconds} of training; measuring and writing come after"
    elif asked.steps is not None:
        reason = f"{in_steps}, as asked"
    elif asked.target_db is not None:
        reason = f"at most {in_steps}, the default on this device"
    else:
        reason = f"no budget was given: {in_steps}, the default on this device"
    return Choice(reason, recipe={"steps": steps, "seconds": asked.seconds})


def target(s: Situation) -> Choice:
    """The quality at which the fit may end early."""
    wanted = s.budget.target_db
    reason = "" if wanted is None else f"the fit ends early at {wanted:g} dB, confirmed over all points"
    return Choice(reason, recipe={"target_db": wanted})


# In the order in which a plan gives its reasons.
RULES: dict[str, Rule] = {
    "capacity": capacity.capacity,
    "network": network,
    "constants": constants,
    "first_frequency": first_frequency.from_spectrum,
    "activation": activation,
    "activation_rates": activation_rates,
    "optimiser": optimiser,
    "rate": rate,
    "precision": precision,
    "batch": batch,
    "budget": budget,
    "target": target,
    "size": capacity.size,
}
# For a network of the user's own, of which nothing is known; a kind of signal may replace the rate.
OWN_NETWORK_RULES: dict[str, Rule] = {
    "optimiser": muon,
    "rate": usual_rate,
    "precision": precision,
    "batch": batch,
    "budget": budget,
    "target": target,
    "size": capacity.size,
}


def rules_for(source: Any) -> dict[str, Rule]:
    """The table for a signal or a task: the default, with the changes of the signal and then of the task."""
    return with_changes(with_changes(RULES, rules_of(getattr(source, "signal", None))), rules_of(source))


def rules_of(source: Any) -> Mapping[str, Rule | None]:
    """The changes that a signal or a task makes to the table."""
    changes = getattr(source, "plan_rules", None)
    return {} if changes is None else changes()


def with_changes(rules: Mapping[str, Rule], changes: Mapping[str, Rule | None]) -> dict[str, Rule]:
    """The table with topics replaced, removed, or added at its end.

    >>> list(with_changes({"rate": muon, "batch": batch}, {"rate": None, "colour": network}))
    ['batch', 'colour']
    """
    return {topic: rule for topic, rule in {**rules, **changes}.items() if rule is not None}


def learning_rate(value: float, why: str = "") -> Choice:
    """One rate for Adam and for the matrices."""
    reason = f"learning rates of {value:g}" + (f", {why}" if why else "")
    return Choice(reason, recipe={"rate": value, "matrix_rate": value})


def found_for(s: Situation) -> str:
    """The network that the rates were found for."""
    return f"those found for {s.spec.name}"


def uses_soap(s: Situation) -> bool:
    """Whether the rule of the optimiser has chosen SOAP."""
    return s["optimiser"].recipe["optimiser"] == "soap"


def is_large_picture(s: Situation) -> bool:
    """Whether every step sees a whole image of many pixels."""
    return s.batch is None and s.in_features == 2 and s.points >= SOAP_POINTS


def is_long(s: Situation) -> bool:
    """Whether the budget holds enough steps for SOAP."""
    if s.steps is not None:
        return s.steps >= SOAP_STEPS
    return not s.on_cpu and s.budget.seconds is not None and s.budget.seconds >= SOAP_SECONDS * s.points


def has_few_steps(s: Situation) -> bool:
    """Whether few steps see a whole image of a size for which less momentum is better."""
    seen_whole = s.batch is None and s.in_features == 2 and SMALL_POINTS < s.points < SOAP_POINTS
    return seen_whole and s.steps is not None and s.steps <= MOMENTUM_STEPS


def is_short(s: Situation) -> bool:
    """Whether the budget holds few steps of mini-batches on a CPU."""
    if s.steps is not None:
        return s.steps < FEW_STEPS
    return s.budget.seconds is not None and s.budget.seconds < FEW_SECONDS
