"""What experiments with variants of plans share: their signals, and one fit of a variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paper.data.sources import Source, open_source, source_data
from paper.runner.experiment import Context, Data, Outcome


@dataclass(frozen=True)
class VariantExperiment:
    """`sources` maps the names in configurations to signals.

    A configuration has `signal`, `variant`, `steps` and `seed`. A subclass has a name, a protocol and labels.
    """

    sources: Mapping[str, Source]

    version = 1

    def data(self, configuration: Any) -> Data:
        return source_data(self.sources[configuration.signal], configuration.signal)

    def run(self, configuration: Any, context: Context) -> Outcome:
        from paper.protocols.variant_run import run_variant

        c = configuration
        signal = open_source(self.sources[c.signal], c.signal)
        return run_variant(signal, c.variant, context, steps=c.steps, seed=c.seed)
