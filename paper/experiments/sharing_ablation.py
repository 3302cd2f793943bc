"""One activation for the network, for each layer, or for each neuron (Figure "Granularity of activation selection")."""

from __future__ import annotations

from paper.data.preparation import Preparation
from paper.report.pictures import iteration_curves
from paper.study.image_study import ImageStudy
from paper.study.rows import Length, Row

# The paper's figure has curves and no numbers: per neuron best, per layer nearly as good, per network worst. A network
# that shares one activation has one omega0; 30, that of the hidden layers.
STUDY = ImageStudy(
    "sharing-ablation",
    "STAF with activations per network, layer, neuron, 500 iterations; paper: neuron > layer >> network",
    (
        Row("per network", "staf", {"sharing": "network", "omega0": 30.0, "hidden_omega0": 30.0}),
        Row("per layer", "staf", {"sharing": "layer"}),
        Row("per neuron", "staf", {"sharing": "neuron"}),
    ),
    Length(500),
    preparation=Preparation(divide=4),
    figures={"sharing-ablation": iteration_curves},
    needs="one image of DIV2K at full size, which is divided by 4; several say more",
    time="3 rows x 2 recipes: 1 min an image on an H200",
).study()
