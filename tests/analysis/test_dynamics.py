"""How the sinusoids move during a fit."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import staf
from staf.analysis import Dynamics, ParameterDynamics

PARTS = ("amplitude", "frequency", "phase")


def picture() -> np.ndarray:
    i, j = np.meshgrid(np.linspace(0, 3, 12), np.linspace(0, 2, 12))
    return (0.5 + 0.4 * np.sin(3 * i + j)).astype(np.float32)


def field(**options: object) -> torch.nn.Module:
    return staf.staf(2, 1, width=12, depth=3, generator=torch.Generator().manual_seed(0), **options)  # type: ignore[arg-type]


def sinusoids(module: torch.nn.Module) -> list[dict[str, torch.Tensor]]:
    return [{part: getattr(act, part).detach().clone() for part in PARTS} for act in module.activations]  # type: ignore[union-attr]


def test_change_and_drift_are_those_of_the_parameters() -> None:
    network = field()
    recorder = ParameterDynamics(network)
    history = [sinusoids(network)]

    def keep(state: object) -> None:
        history.append(sinusoids(network))

    staf.fit(picture(), network, staf.Recipe(steps=6), progress=False, device="cpu", callbacks=[recorder, keep])
    result = recorder.result
    assert result.step == [1, 2, 3, 4, 5, 6]
    assert result.layers == ["activations.0", "activations.1", "activations.2"]
    for part in PARTS:
        change, drift = result.arrays("change")[part], result.arrays("drift")[part]
        assert change.shape == drift.shape == (6, 3)
        for step in range(6):
            for layer in range(3):
                now, last, first = (history[k][layer][part].double() for k in (step + 1, step, 0))
                assert change[step, layer] == pytest.approx(float((now - last).abs().mean()))
                assert drift[step, layer] == pytest.approx(float((now - first).abs().mean()))
        assert (change > 0).all()


def test_every_thins_the_records_and_divides_by_the_steps_between() -> None:
    fine, coarse = ParameterDynamics(field()), ParameterDynamics(field(), every=4)
    for recorder in (fine, coarse):
        staf.fit(picture(), field(), staf.Recipe(steps=9), progress=False, device="cpu", callbacks=[recorder])
    assert coarse.result.step == [1, 5, 9]
    assert np.allclose(coarse.result.arrays("drift")["phase"], fine.result.arrays("drift")["phase"][[0, 4, 8]])
    moved = fine.result.arrays("change")["phase"][1:5].sum(0)
    assert (coarse.result.arrays("change")["phase"][1] * 4 <= moved + 1e-12).all()


def test_without_a_start_the_first_record_is_the_start() -> None:
    recorder = ParameterDynamics()
    with pytest.raises(ValueError, match="nothing was recorded"):
        _ = recorder.result
    staf.fit(picture(), field(), staf.Recipe(steps=3), progress=False, device="cpu", callbacks=[recorder])
    drift = recorder.result.arrays("drift")["frequency"]
    assert (drift[0] == 0).all()
    assert (drift[1:] > 0).all()


def test_parts_that_are_not_trained_stand_still() -> None:
    network = field(train=("amplitude",))
    recorder = ParameterDynamics(network)
    staf.fit(picture(), network, staf.Recipe(steps=3), progress=False, device="cpu", callbacks=[recorder])
    drift = recorder.result.arrays("drift")
    assert (drift["amplitude"] > 0).all()
    assert not drift["frequency"].any()
    assert not drift["phase"].any()


def test_early_share() -> None:
    rows = [[3.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    still = [[0.0, 0.0]] * 3
    dynamics = Dynamics(
        ["a", "b"],
        [1, 2, 4],
        [1.0, 0.5, 0.2],
        {"amplitude": rows, "frequency": still, "phase": rows},
        dict.fromkeys(PARTS, rows),
    )
    assert dynamics.early_share(2) == pytest.approx({"amplitude": 5 / 7, "frequency": 0.0, "phase": 5 / 7})
    assert Dynamics.from_plain(json.loads(json.dumps(dynamics.to_plain()))) == dynamics


def test_refusals() -> None:
    with pytest.raises(ValueError, match="has no SineSeries"):
        ParameterDynamics(staf.siren(2, 1, width=8))
    with pytest.raises(ValueError, match="has no SineSeries"):
        ParameterDynamics()(SimpleNamespace(step=1, loss=1.0, field=staf.siren(2, 1, width=8)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="every must be at least 1"):
        ParameterDynamics(every=0)
    with pytest.raises(ValueError, match="kind must be"):
        Dynamics(["a"]).arrays("speed")
