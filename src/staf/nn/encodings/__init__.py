"""Fixed maps from coordinates to features, one file for each family."""

from __future__ import annotations

from staf.nn.encodings.fourier import FrequencyEncoding, GaussianEncoding, nyquist_bands

__all__ = ["FrequencyEncoding", "GaussianEncoding", "nyquist_bands"]
