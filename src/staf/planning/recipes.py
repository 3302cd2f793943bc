"""Named recipes: the defaults, those of the paper, and those of the released code where they differ.

`plans` combines them with the paper's networks. Each function returns a `Recipe`; change it with `.replace(steps=...)`.
"""

from __future__ import annotations

from staf.training.recipe import Recipe
from staf.training.schedules import Constant, Cosine, Exponential

# How fast C, Omega and Phi learn with SOAP. One C scales a whole layer, so that what its steps add at random is seen by
# every weight. kodim03 and kodim13, 1,000 steps, seeds 1 and 2: at 0.1, 3, 0.1 78.7 dB; eleven other pictures, seeds 0,
# 1 and 2: 77.9, 79.1 and 78.8 dB, where 3, 3, 3 had 78.6, 74.4 and 74.5.
SOAP_ACTIVATIONS = (0.1, 3.0, 0.1)


def default(*, steps: int = 1000, batch: int | None = None) -> Recipe:
    """The default: Muon on the hidden matrices, Adam on the rest; C, Omega and Phi three times faster; cosine to 1%.

    On CUDA, hidden products use split bfloat16, with the quality of float32 (docs/recipes-evidence.md).

    >>> default(steps=200).optimiser
    'muon'
    """
    return Recipe(
        steps=steps,
        batch=batch,
        optimiser="muon",
        rate=3e-3,
        matrix_rate=3e-3,
        amplitude_rate=3.0,
        frequency_rate=3.0,
        phase_rate=3.0,
        schedule=Cosine(0.01),
        precision="bf16x3",
    )


def few_steps(*, steps: int = 25) -> Recipe:
    """The default for 10 to 100 full-batch steps, such as fits from a learnt start: less momentum.

    25 and 50 steps on 40 faces of 128x128 give 38.0 and 48.2 dB; with the usual momentum they give 30.7 and 35.9 dB,
    and more noise between the pixels (docs/recipes-evidence.md).

    >>> few_steps().momentum
    0.8
    """
    return default(steps=steps).replace(momentum=0.8)


def full_batch(*, steps: int = 1000) -> Recipe:
    """The default for images and recordings that every step sees whole: SOAP on all matrices, Adam on the rest.

    Rates rise over the first tenth of the fit. SOAP does not yet know the covariances of the gradient then, and large
    first steps would scatter the frequencies: the pixels would be fitted with noise between them.

    >>> full_batch(steps=200).optimiser
    'soap'
    """
    return default(steps=steps).replace(
        optimiser="soap",
        schedule=Cosine(0.01, warm=0.1),
        amplitude_rate=SOAP_ACTIVATIONS[0],
        frequency_rate=SOAP_ACTIVATIONS[1],
        phase_rate=SOAP_ACTIVATIONS[2],
    )


def paper_image(*, epochs: int = 501, batch: int = 4096) -> Recipe:
    """The image task as released: epochs of 4096-pixel batches, Adam 1e-3 x 0.05^(t/T), samples at the ends."""
    return Recipe(epochs=epochs, batch=batch, rate=1e-3, schedule=Exponential(0.05), convention="ends")


def paper_kodak() -> Recipe:
    """Kodak at 256x256 as 1,000 full-batch steps; `paper_image(epochs=1000)` is the other interpretation."""
    return Recipe(steps=1000, rate=1e-3, schedule=Exponential(0.05), convention="ends")


def paper_celeba() -> Recipe:
    """CelebA at 128x128 as 250 full-batch steps; `paper_image(epochs=250)` is the other interpretation."""
    return Recipe(steps=250, rate=1e-3, schedule=Exponential(0.05), convention="ends")


def paper_audio() -> Recipe:
    """Audio: 1,001 full-batch steps, Adam 2.5e-4 x 0.36^(t/T)."""
    return Recipe(steps=1001, rate=2.5e-4, schedule=Exponential(0.36), convention="ends")


def paper_shape() -> Recipe:
    """Occupancy: 200 epochs of 100,000-voxel batches, Adam 2.5e-4 x 0.36^(t/T)."""
    return Recipe(epochs=200, batch=100_000, rate=2.5e-4, schedule=Exponential(0.36), convention="ends")


def paper_super_resolution() -> Recipe:
    """4x super-resolution: 501 epochs of 256 points, Adam 1e-3 x 0.1^(t/T)."""
    return Recipe(epochs=501, batch=256, rate=1e-3, schedule=Exponential(0.1), convention="ends")


def paper_denoising() -> Recipe:
    """Denoising as in the text of the paper: 501 epochs of 4096 points, Adam 1.5e-4 x 0.1^(t/T)."""
    return Recipe(epochs=501, batch=4096, rate=1.5e-4, schedule=Exponential(0.1), convention="ends")


def released_denoising() -> Recipe:
    """Denoising as in the released code: a constant rate of 2.5e-4, because its scheduler is switched off."""
    return paper_denoising().replace(rate=2.5e-4, schedule=Constant())
