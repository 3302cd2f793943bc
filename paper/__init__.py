"""The paper's tables and figures, ours beside theirs: `python -m paper NAME`.

Not part of the installed package: run it from a checkout. A configuration goes in, a cached result file comes out, and
tables and figures are drawn from result files alone. Nothing here imports torch before an experiment is run.
"""

from __future__ import annotations

# Name on the command line -> module; each has `NAME`, `DATA`, `add_arguments`, `sweep`, `table` and `draw`.
EXPERIMENTS = {
    "image-comparison": "paper.experiments.image_comparison",
    "audio": "paper.experiments.audio",
    "shapes": "paper.experiments.shapes",
    "super-resolution": "paper.experiments.super_resolution",
    "denoising": "paper.experiments.denoising",
    "recipe-ablation": "paper.experiments.recipe_ablation",
    "model-table": "paper.experiments.model_table",
    "time-to-quality": "paper.experiments.time_to_quality",
    "recipe-search": "paper.searches.recipe_search",
    "restoration-search": "paper.searches.restoration_search",
}
