"""Running experiments: every configuration becomes a result file, once, in this process or in several."""

from __future__ import annotations

from paper.runner.experiment import Context, Data, Experiment, Outcome
from paper.runner.result import RunResult, load_results
from paper.runner.sweep import Sweep, run_experiment

__all__ = ["Context", "Data", "Experiment", "Outcome", "RunResult", "Sweep", "load_results", "run_experiment"]
