"""The one loop, its optimisers, recipes and plans, checkpoints and the file format."""

from . import plans, recipes
from .checkpoint import Checkpoint
from .file import FileError, load_field, read_header, save_field
from .history import History
from .interrupt import Interrupted
from .loop import Result, State, predictor, run
from .muon import Muon
from .plans import Budget, Plan, plan
from .recipe import Recipe
from .schedules import Constant, Cosine, Exponential
from .soap import Soap
from .task import Batch, Task

__all__ = [
    "Batch",
    "Budget",
    "Checkpoint",
    "Constant",
    "Cosine",
    "Exponential",
    "FileError",
    "History",
    "Interrupted",
    "Muon",
    "Plan",
    "Recipe",
    "Result",
    "Soap",
    "State",
    "Task",
    "load_field",
    "plan",
    "plans",
    "predictor",
    "read_header",
    "recipes",
    "run",
    "save_field",
]
