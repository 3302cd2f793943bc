"""The plans for super-resolution and denoising: lower frequencies, so that the network does not fit the noise."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from staf._documents import Document
from staf.nn.networks import Settings
from staf.planning import capacity, first_frequency, rules
from staf.planning.plans import Budget, Plan, plan
from staf.planning.situation import Choice, Rule, Situation

# A restoration is not the better for following all it sees: 3,000 steps give 29.0 dB where 300 give 30.2 (kodim03 seen
# at 64x64, super-resolution with hidden 10).
STEPS = 300
MOST_STEPS = 4800


@dataclass(frozen=True)
class Restoration:
    """The rules of a restoration.

    Full batches have the settings in each network's `NetworkSpec` under `task`: the best of eight trials of the
    restoration search on kodim03 at 256x256, 300 steps on a GPU
    (benchmarks/results/restoration-search-*-h200-2026-11-15.csv); STAF's is the first of them, found before. Those of
    inpainting are the best of five trials on three photos at 128x128, those of tomography of three
    (benchmarks/results/restoration-constants-*-2026-11-16.json), where they hold on other photos.

    Args:
        task: the key in `NetworkSpec.restoration`.
        mini_batches: arguments of networks whose first layer follows omega0, if a step sees a part of the pixels.
        per_pixel: for those, the first omega0 per pixel along the longest observed side.
        epochs: how often mini-batches see each pixel, so that larger images get more steps.
    """

    task: str
    mini_batches: dict[str, float]
    per_pixel: float | None
    epochs: float

    def settings(self, s: Situation) -> Settings:
        """The network's settings for full batches; where none were found for the task, those of super-resolution."""
        return s.spec.settings(self.task if self.task in s.spec.restoration else "super_resolution")

    def arguments(self, s: Situation) -> Document:
        """The network's arguments; none where it keeps its own."""
        own = self.settings(s)
        observed = s.source.observed.shape if own.per_pixel or self.per_pixel else ()
        if s.batch is None:
            return own.arguments(observed)
        if not s.spec.first_layer.follows_omega0:
            return {}
        # Rates are halved already, and mini-batches follow the noise less.
        slow = Settings(s.spec.rates.full_batch, self.per_pixel, self.mini_batches).arguments(observed)
        return {**slow, **{name: value for name, value in own.constants.items() if name not in slow}}

    def constants(self, s: Situation) -> Choice:
        """As for any signal; the reason is left out where the restoration has constants of its own."""
        usual = rules.constants(s)
        return dataclasses.replace(usual, reason="") if self.arguments(s) else usual

    def first_frequency(self, s: Situation) -> Choice:
        """Slower than a reconstruction's, which follows the noise, and what lies between the pixels."""
        arguments = self.arguments(s)
        return first_frequency.from_settings(arguments) if arguments else first_frequency.from_spectrum(s)

    def rate(self, s: Situation) -> Choice:
        """The rate of the settings for full batches; mini-batches have the usual one."""
        if s.batch is not None:
            return rules.usual_rate(s)
        rate = self.settings(s).rate
        factor = rate / s.spec.rates.full_batch
        why = ""
        if factor != 1:
            why = "so that what is seen is not followed too closely" if factor < 1 else "so that the steps are enough"
            why = f" times {factor:.3g}, {why}"
        return rules.learning_rate(rate, rules.found_for(s) + why)

    def budget(self, s: Situation) -> Choice:
        """Few steps where the budget leaves them open, and more for mini-batches of a large picture."""
        usual = rules.budget(s)
        if s.budget.steps is not None or s.budget.seconds is not None:
            return usual
        wanted = STEPS if s.batch is None else round(self.epochs * s.points / s.batch)
        steps = min(max(STEPS, wanted), MOST_STEPS)
        reason = f"no budget was given: {steps:,} steps, "
        if s.batch is None or steps == STEPS:
            reason += "because with more the field follows what is seen too closely"
        else:
            reason += f"which see each pixel {steps * s.batch / s.points:.0f} times"
        if wanted > steps:
            reason += f"; a picture as large as this one gains from more, up to {wanted:,}"
        return dataclasses.replace(usual, reason=reason, recipe={**usual.recipe, "steps": steps})

    def rules(self) -> dict[str, Rule]:
        """What the restoration changes of the table."""
        return {
            "capacity": capacity.of_observation,
            # A small network keeps out what is not observed.
            "size": lambda s: Choice(),
            "constants": self.constants,
            "first_frequency": self.first_frequency,
            "optimiser": rules.muon,
            "rate": self.rate,
            "budget": self.budget,
        }


def batch_by_samples(s: Situation) -> Choice:
    """A step costs as much as for an image where each pixel is seen through several points."""
    usual, each = rules.batch(s), s.source.samples**2
    if usual.recipe["batch"] is None or each == 1:
        return usual
    fewer = max(1, usual.recipe["batch"] // each)
    reason = f"steps of {fewer:,} of the {s.points:,} pixels, each seen through {each} points"
    return Choice(reason, recipe={"batch": fewer})


def batch_by_rays(s: Situation) -> Choice:
    """As many rays as have the points of a usual step along them."""
    along = s.source.ray_samples
    usual = rules.CPU_BATCH if s.on_cpu else rules.VOLUME_BATCH
    rays = min(s.points, max(1, usual // along))
    reason = f"steps of {rays:,} of the {s.points:,} rays, {along:,} places along each, so that memory is bounded"
    return Choice(reason, recipe={"batch": None if rays == s.points else rays})


# 512x512 train_00 seen at 128x128, 2,048 pixels a step: 600 steps end at 22.6 dB, 1,200 at 22.8; Lanczos has 22.7.
SUPER_RESOLUTION = Restoration("super_resolution", {"hidden_omega0": 5.0}, per_pixel=0.15, epochs=150)
# Missing pixels; by mini-batches as super-resolution.
INPAINTING = Restoration("inpainting", {"hidden_omega0": 5.0}, per_pixel=0.15, epochs=150)
# Ten photons, stopped by held-out pixels. Mini-batches can be faster than full batches: the astronaut at 256x256, 300
# steps of 8,192 pixels on a CPU, 10 and 10 give 23.6 dB, 7 and 5 22.2. train_00 at 512x512, 8,192 pixels a step: 300
# steps end at 21.5 dB, 1,200 at 22.6.
DENOISING = Restoration("denoising", {"omega0": 10.0, "hidden_omega0": 10.0}, per_pixel=None, epochs=37.5)
# Rays mix all cells, so that a step sees all of them on every machine; of large volumes it sees some rays, by the same
# constants. A cone beam of 24x24x24 and 50 views: 300 steps, which see three of four rays once, end at 24.2 dB, 800 at
# 30.2.
TOMOGRAPHY = Restoration("tomography", {"hidden_omega0": 10.0}, per_pixel=0.3, epochs=3.0)
# Not searched for: those of tomography, whose observations mix all cells too.
MAGNETIC_RESONANCE = Restoration("tomography", {}, per_pixel=None, epochs=1.0)
SUPER_RESOLUTION_RULES: dict[str, Rule] = {**SUPER_RESOLUTION.rules(), "batch": batch_by_samples}
DENOISING_RULES: dict[str, Rule] = DENOISING.rules()


def super_resolution(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `SuperResolution` task; on a CPU a batch has as many points as for an image, not pixels.

    >>> from types import SimpleNamespace
    >>> seen = SimpleNamespace(shape=(256, 256))
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536, samples=4, observed=seen)
    >>> chosen = super_resolution(task, Budget(steps=1))
    >>> chosen.recipe.batch, chosen.field(0).architecture["arguments"]["omega0"]
    (512, 38.4)
    """
    return plan(task, budget, device=device, model=model, rules=SUPER_RESOLUTION_RULES)


def denoising(task: Any, budget: Budget | None = None, *, device: str = "cpu", model: str = "staf") -> Plan:
    """The default plan for a `Denoising` task.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=65536)
    >>> denoising(task).field(0).architecture["arguments"]["terms"]
    2
    """
    return plan(task, budget, device=device, model=model, rules=DENOISING_RULES)


def with_settings(chosen: Plan, task: Any, model: str, settings: Settings) -> Plan:
    """A plan of full batches with other settings than the network's: a search tries what a `NetworkSpec` can hold.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(in_features=2, out_features=3, points=4096)
    >>> other = with_settings(denoising(task, model="gauss"), task, "gauss", Settings(2e-3, constants={"sigma": 3.0}))
    >>> other.recipe.rate, other.field(0).architecture["arguments"]["sigma"]
    (0.002, 3.0)
    """

    def kept(topic: str, *entries: str) -> Rule:
        recipe = {entry: getattr(chosen.recipe, entry) for entry in entries}
        return lambda s: Choice(chosen.reasons.get(topic, ""), recipe=recipe)

    given = _Given("", {}, per_pixel=None, epochs=1.0, given=settings).rules()
    given["precision"] = kept("precision", "precision")
    given["batch"] = kept("batch", "batch")
    given["budget"] = kept("budget", "steps", "epochs", "seconds")
    given["target"] = kept("target", "target_db")
    return plan(task, model=model, rules=given)


@dataclass(frozen=True)
class _Given(Restoration):
    """A restoration by settings that are given."""

    given: Settings

    def settings(self, s: Situation) -> Settings:
        return self.given
