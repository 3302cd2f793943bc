from __future__ import annotations

import numpy as np

from paper.experiments.inverse_runs import InverseRun
from paper.experiments.tomography import Slices
from staf.kinds import Image


def test_wires_own_network_is_that_of_its_authors_and_others_are_not_changed():
    slices, picture = Slices({}), Image(np.eye(8, dtype=np.uint8) * 200)
    built = {}
    for model in ("wire", "siren"):
        configuration = InverseRun("eye", model, "wire")
        plan = slices.plan_of(slices.task_of(picture, configuration), configuration, "cpu")
        built[model] = plan.field(0).architecture["arguments"]
        assert (plan.recipe.steps, plan.recipe.rate) == (5000, 5e-3)
    assert {built["wire"][name] for name in ("omega0", "hidden_omega0", "sigma0")} == {10.0}
    assert (built["wire"]["width"], built["wire"]["depth"], built["wire"]["planar"]) == (300, 3, True)
    assert built["siren"]["omega0"] == 30.0
