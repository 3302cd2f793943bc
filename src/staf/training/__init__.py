"""The trainer: steps, graph capture, optimisers, divergence, callbacks, checkpoints."""

from __future__ import annotations

from staf.training.checkpoint import Checkpoint
from staf.training.history import History
from staf.training.interrupt import Interrupted
from staf.training.optim.muon import Muon
from staf.training.optim.soap import Soap
from staf.training.prediction import predictor
from staf.training.processes import several_processes
from staf.training.recipe import Recipe
from staf.training.result import Result
from staf.training.schedules import Constant, Cosine, Exponential
from staf.training.state import Callback, State
from staf.training.task import Batch, Task
from staf.training.trainer import run, train

__all__ = [
    "Batch",
    "Callback",
    "Checkpoint",
    "Constant",
    "Cosine",
    "Exponential",
    "History",
    "Interrupted",
    "Muon",
    "Recipe",
    "Result",
    "Soap",
    "State",
    "Task",
    "predictor",
    "run",
    "several_processes",
    "train",
]
