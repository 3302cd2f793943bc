from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "equations.md"


def test_every_block_of_the_page_runs(capsys):
    page = PAGE.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    assert "relative_error" in capsys.readouterr().out
