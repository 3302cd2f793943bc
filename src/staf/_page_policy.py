"""What keeps a page safe: its content security policy, and text whose markup is escaped."""

from __future__ import annotations

import base64
import hashlib
import html


def page_policy(style: str, script: str, *sources: str) -> str:
    """Only this style and this script work, and of all else nothing is loaded but what `sources` allow.

    >>> page_policy("", "", "img-src data:").split("; ")[:2]
    ["default-src 'none'", 'img-src data:']
    """
    own = (f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'")
    return "; ".join(("default-src 'none'", *sources, *own, "base-uri 'none'", "form-action 'none'"))


def text(value: object) -> str:
    """A value as HTML text or attribute: markup escaped, control and direction characters made visible.

    >>> text("<script>alert('1')</script>")
    '&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;'
    >>> text("photo\u202egnp.exe")
    'photo\ufffdgnp.exe'
    """
    clean = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(value))
    return html.escape(clean, quote=True)


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
