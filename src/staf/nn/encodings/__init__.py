"""Maps from coordinates to features, one file for each family."""

from __future__ import annotations

from staf.nn.encodings.fourier import FrequencyEncoding, GaussianEncoding, nyquist_bands
from staf.nn.encodings.hash_grid import HashGridEncoding, LevelSummary

__all__ = ["FrequencyEncoding", "GaussianEncoding", "HashGridEncoding", "LevelSummary", "nyquist_bands"]
