"""The shared runner of experiments, and one module per table or figure.

A configuration goes in, a cached result file comes out, and tables and figures are drawn from result files alone.
Nothing here imports torch before an experiment is run.
"""

from __future__ import annotations

from staf.experiments.experiment import Context, Data, Experiment, Outcome
from staf.experiments.result import Result, load_results
from staf.experiments.runner import Sweep, run_experiment

__all__ = [
    "EXPERIMENTS",
    "Context",
    "Data",
    "Experiment",
    "Outcome",
    "Result",
    "Sweep",
    "load_results",
    "run_experiment",
]

# Name on the command line -> module; each has `add_arguments`, `sweep` and `draw` (see image_comparison).
EXPERIMENTS = {
    "image-comparison": "staf.experiments.image_comparison",
    "audio": "staf.experiments.audio",
    "shapes": "staf.experiments.shapes",
    "super-resolution": "staf.experiments.super_resolution",
    "denoising": "staf.experiments.denoising",
    "recipe-search": "staf.experiments.recipe_search",
    "restoration-search": "staf.experiments.restoration_search",
    "recipe-ablation": "staf.experiments.recipe_ablation",
    "model-table": "staf.experiments.model_table",
    "time-to-quality": "staf.experiments.time_to_quality",
}
