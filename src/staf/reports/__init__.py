"""Run folders and the HTML report."""

from __future__ import annotations

from staf.reports.errors import RunError
from staf.reports.notebook import notebook_html
from staf.reports.page import report_html
from staf.reports.run_folder import RunPaths, check_folder, write_run

__all__ = ["RunError", "RunPaths", "check_folder", "notebook_html", "report_html", "write_run"]
