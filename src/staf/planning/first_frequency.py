"""The initial frequencies of a network's first layer, with the reasons; no other module chooses them.

There are rules for images and arrays (`from_spectrum`), recordings (`from_pitch`), shapes (`from_resolution`) and
restorations (`from_settings`). The `FirstLayer` of a network says how it uses the frequencies: by omega0, larger
weights, a scale or bands. docs/recipes-evidence.md has the fits behind the constants.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

from staf._documents import Entries
from staf.nn.networks import NetworkSpec
from staf.planning.situation import Choice, Situation
from staf.planning.spectrum import audio_detail, grid_detail, shown_signal

# omega0 = OMEGA0_PER_ROOT sqrt(mean frequency), within the ends. More than a quarter of (side + mean frequency) fits
# the pixels as well and is noise between them, and of few pixels more than a hundredth of the side squared. Beyond 100
# nothing is gained: at 512x512, 500 steps of SOAP, train_00 and train_02 of DIV2K end at 36.3 dB with 138 and 143, at
# 36.6 with 70% of that and at 36.7 with half; between the pixels at 26.9, 28.7 and 30.0 dB.
OMEGA0_PER_ROOT = 7.0
OMEGA0_PER_SIDE = 0.25
OMEGA0_PER_SQUARE = 0.01
OMEGA0_ENDS = (0.5, 100.0)
# The mean frequency of a sharp photograph for each pixel of its side, for a picture whose pixels cannot be seen.
PHOTO = 0.7

# omega0 of shapes for each voxel along the longest side, within the ends; no network gets less than SHAPE_ENDS[0], the
# published constant. The armadillo at 96 voxels, width 64, 300 steps of 8,192: omega0 15 gives a Chamfer distance of
# 9.3e-5, 30 gives 6.9e-5, 60 gives 7.3e-5. Lucy at 256, default plan, 400 steps of 262,144 on an H200: 30 gives an IoU
# of 0.9958, 60 0.99971, 90 0.99966; another mesh, 1,000 steps: 30 0.9975, 60 0.9996, 90 and 150 no less.
SHAPE_PER_SIDE = 0.25
SHAPE_ENDS = (30.0, 90.0)
# The first sines of shapes have from LOWEST_SINE to so many radians per unit for each of those voxels, within the ends,
# where a network does not spread them itself. At 256 voxels, 600 steps of 262,144, an IoU without that, up to 60, 90
# and 130, and FINER's: armadillo 0.99963, 0.99992, 0.99993, 0.99994, 0.99980; bunny up to 60, 90 and 130 0.99976,
# 0.99972, 0.99959, FINER 0.99959; lucy without 0.99972, up to 128 0.99940, FINER 0.99965. The armadillo at 512, 3,000
# steps, up to 128: 0.9985, FINER 0.9975. Width 64 at 96 voxels, 300 steps of 8,192, without, up to 20, 28, 36 and 48:
# armadillo 0.964, 0.967, 0.968, 0.971, 0.968; bunny 0.9875, 0.9880, 0.9875, 0.9856, 0.9830; lucy 0.961, 0.970, 0.978,
# 0.981, 0.983.
LOWEST_SINE = 6.0
HIGHEST_SINE_PER_SIDE = 0.25
HIGHEST_SINE_ENDS = (17.0, 130.0)

# The first layer of audio starts with sines of up to (mean frequency)^2 / HERTZ. No more than a quarter of the sample
# rate, and no more than so many cycles over the recording for each neuron, with full batches and with mini-batches: few
# sines cannot cover more, and the fit ends in hiss or silence.
HERTZ = 350.0
CYCLES = 11.0
MINI_BATCH_CYCLES = 4.7
WIDTH = 256
LOWEST_HERTZ = 20.0
# For a recording whose samples cannot be seen.
TYPICAL_HERTZ = 400.0


def from_spectrum(s: Situation) -> Choice:
    """The rule for images and arrays of any dimension: omega0 from the mean frequency of the samples."""
    first = s.spec.first_layer
    if not first.follows_omega0:
        # Pictures keep the published constants, whatever their size.
        return Choice() if s.in_features == 2 else from_resolution(s)
    found = grid_omega0(s.source)
    if found is None:
        return Choice()
    omega0, why = found
    return _told(first.for_omega0(omega0), f" in the first layer, from the spectrum: {why}")


def from_resolution(s: Situation) -> Choice:
    """The rule for shapes: it follows the number of samples along the longest axis, which limits their detail."""
    shape = getattr(s.signal, "shape", None)
    if not shape:
        return Choice()
    first, side = s.spec.first_layer, max(shape)
    arguments = first.for_samples(side)
    if first.follows_omega0:
        fastest = first.for_omega0(min(SHAPE_PER_SIDE * side, SHAPE_ENDS[1]))
        arguments = {**arguments, **{name: max(SHAPE_ENDS[0], value) for name, value in fastest.items()}}
    told = _told(arguments, f" for {side:,} samples along the longest axis")
    if not first.spreads:
        return told
    highest = min(max(HIGHEST_SINE_PER_SIDE * side, HIGHEST_SINE_ENDS[0]), HIGHEST_SINE_ENDS[1])
    reason = f"{told.reason}; first sines of {LOWEST_SINE:g} to {highest:g} radians per unit"
    return dataclasses.replace(told, reason=reason, start=partial(first.spread, lowest=LOWEST_SINE, highest=highest))


def from_pitch(s: Situation) -> Choice:
    """The rule for recordings: sines from the mean frequency in hertz."""
    hertz, why = first_hertz(s.signal, s.signal.seconds, CYCLES if s.batch is None else MINI_BATCH_CYCLES)
    return at_pitch(s.spec, s.signal, hertz, why)


def at_pitch(spec: NetworkSpec, recording: Any, hertz: float, why: str = "as given") -> Choice:
    """A first layer that covers a recording with waves of up to `hertz`."""
    first, cycles = spec.first_layer, hertz * recording.seconds
    return Choice(
        first.waves_in_words(f"{hertz:,.0f} Hz", why, recording.samples),
        arguments=first.for_waves(cycles, recording.samples),
        start=partial(first.enlarge, cycles=cycles),
    )


def from_settings(arguments: Entries) -> Choice:
    """The choice of a restoration: slower first layers than those of a reconstruction."""
    return _told(arguments, ", so that the field stays smooth between what is seen")


def grid_omega0(signal: Any) -> tuple[float, str] | None:
    """The first layer's omega0 for an image or an array, and why; None if there is no sampled grid.

    min(7 sqrt(f), (side + f) / 4, side^2 / 100) between 0.5 and 100, where f is the mean frequency and `side` the
    longest in samples.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> noise = np.random.default_rng(0).uniform(size=(64, 64, 1)).astype(np.float32)
    >>> grid_omega0(SimpleNamespace(array=noise, shape=(64, 64), in_features=2, value_range=(0, 1)))
    (35.0, 'detail as fine as noise, a mean wave of 2.6 pixels')
    """
    shape = getattr(shown_signal(signal), "shape", None)
    if shape is None or len(shape) != signal.in_features:
        return None
    side, detail, is_picture = max(shape), grid_detail(signal), signal.in_features == 2
    if detail is not None:
        frequency, why = detail[0], _in_words(detail[1], is_picture)
    elif is_picture:
        frequency, why = PHOTO * side, "as for a sharp photo of this size"
    else:
        return None
    limits = (OMEGA0_PER_SIDE * (side + frequency), OMEGA0_PER_SQUARE * side**2)
    wanted = min(OMEGA0_PER_ROOT * math.sqrt(frequency), *limits)
    return round(min(max(wanted, OMEGA0_ENDS[0]), OMEGA0_ENDS[1]), 1), why


def first_hertz(signal: Any, seconds: float, cycles: float = CYCLES, width: int = WIDTH) -> tuple[float, str]:
    """The fastest sine that a first layer over `seconds` of a recording starts with, and why.

    (mean frequency)^2 / 350 Hz, at most `cycles` over the `seconds` for each of the layer's `width` neurons, at most a
    quarter of the sample rate.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> hum = np.sin(2 * np.pi * 250 * np.arange(8000) / 8000)[:, None]
    >>> hertz, why = first_hertz(SimpleNamespace(array=hum, rate=8000, value_range=(-1, 1)), 1.0)
    >>> 180 < hertz < 260, why
    (True, 'its mean frequency is 288 Hz')
    """
    mean = audio_detail(signal)
    if mean is None:
        wanted, why = TYPICAL_HERTZ, "as for music"
    else:
        wanted, why = mean**2 / HERTZ, f"its mean frequency is {mean:,.0f} Hz" if mean > 0 else "it does not vary"
    covered, quarter = cycles * width / seconds, signal.rate / 4
    if wanted > quarter and quarter <= covered:
        why += ", kept to a quarter of the sample rate"
    elif wanted > covered:
        why += f", kept to {cycles * width:,.0f} cycles over {seconds:.3g} s"
    return max(min(wanted, quarter, covered), min(LOWEST_HERTZ, quarter)), why


def _told(arguments: Entries, why: str) -> Choice:
    said = ", ".join(f"{name} {value:g}" for name, value in arguments.items())
    return Choice(said + why if said else "", arguments=arguments)


def _in_words(wave: float, is_picture: bool) -> str:
    """The mean wave, whose length is in samples, in words."""
    if wave == 0:
        return "it does not vary"
    if not is_picture:
        return f"a mean wave of {wave:.1f} samples"
    detail = "the detail of a sharp photo"
    if wave < 3:
        detail = "detail as fine as noise"
    elif wave > 6:
        detail = "soft detail" if wave < 12 else "a smooth picture"
    return f"{detail}, a mean wave of {wave:.1f} pixels"
