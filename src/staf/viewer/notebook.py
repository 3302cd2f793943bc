"""A field in a notebook: the page in a frame of its own."""

from __future__ import annotations

import html
from dataclasses import dataclass

from staf.export.meaning import Exportable
from staf.viewer.page import page


@dataclass(frozen=True)
class EmbeddedPage:
    """A page that a notebook shows below the cell; `text` is its HTML.

    >>> EmbeddedPage("<p>", 300)._repr_html_()[:30]
    '<iframe sandbox="allow-scripts'
    """

    text: str
    height: int = 560

    def _repr_html_(self) -> str:
        # Without allow-same-origin the page cannot reach the notebook.
        held = html.escape(self.text, quote=True)
        frame = f'width="100%" height="{self.height}" style="border:0"'
        return f'<iframe sandbox="allow-scripts allow-downloads" {frame} srcdoc="{held}"></iframe>'


def embedded(field: Exportable, *, height: int = 560) -> EmbeddedPage:
    """The page of a field for a notebook."""
    return EmbeddedPage(page(field), height)
