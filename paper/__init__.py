"""The paper's tables and figures, ours beside theirs: `python -m paper NAME`.

Not part of the installed package: run it from a checkout. A configuration goes in, a cached result file comes out, and
tables and figures are drawn from result files alone.
"""

from __future__ import annotations

# Name on the command line -> module, in the order of the paper. A module has `STUDY`, or `NAME`, `DATA`, `QUICK`,
# `add_arguments`, `sweep`, `table` and `draw`.
PAPER = {
    "activations": "paper.experiments.activations",
    "activation-maps": "paper.experiments.activation_maps",
    "ntk-image": "paper.experiments.ntk_image",
    "image-curves": "paper.experiments.image_curves",
    "kodak": "paper.experiments.kodak",
    "celeba": "paper.experiments.celeba",
    "div2k": "paper.experiments.div2k",
    "distortion-perception": "paper.experiments.distortion_perception",
    "lpips-training": "paper.experiments.lpips_training",
    "tokyo": "paper.experiments.tokyo",
    "audio": "paper.experiments.audio",
    "shapes": "paper.experiments.shapes",
    "nerf": "paper.experiments.nerf",
    "super-resolution": "paper.experiments.super_resolution",
    "denoising": "paper.experiments.denoising",
    "component-ablation": "paper.experiments.component_ablation",
    "tau-ablation": "paper.experiments.tau_ablation",
    "sharing-ablation": "paper.experiments.sharing_ablation",
    "cost-table": "paper.experiments.cost_table",
    "activation-distributions": "paper.experiments.activation_distributions",
    "matched-parameters": "paper.experiments.matched_parameters",
    "hash-grid": "paper.experiments.hash_grid",
    "dynamics": "paper.experiments.dynamics",
    "freezing": "paper.experiments.freezing",
    "ntk-audio": "paper.experiments.ntk_audio",
    "omega0": "paper.experiments.omega0",
    "mixed-frequencies": "paper.experiments.mixed_frequencies",
    "do-sines-help": "paper.experiments.do_sines_help",
}
# What else is run with the same code.
OTHERS = {
    "tomography": "paper.experiments.tomography",
    "inpainting": "paper.experiments.inpainting",
    "image-comparison": "paper.experiments.image_comparison",
    "recipe-ablation": "paper.experiments.recipe_ablation",
    "model-table": "paper.experiments.model_table",
    "time-to-quality": "paper.experiments.time_to_quality",
    "recipe-search": "paper.searches.recipe_search",
    "restoration-search": "paper.searches.restoration_search",
}
EXPERIMENTS = {**PAPER, **OTHERS}
