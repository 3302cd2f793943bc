"""Run folders and the HTML report."""

from __future__ import annotations

from .errors import RunError
from .notebook import notebook_html
from .page import report_html
from .run_folder import RunPaths, check_folder, write_run

__all__ = ["RunError", "RunPaths", "check_folder", "notebook_html", "report_html", "write_run"]
