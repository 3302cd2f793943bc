"""A hook for mkdocs: every field in docs/gallery becomes a page that holds it, made by the viewer of this version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Replace each field by its page, of the same name."""
    for file in [file for file in files if file.src_uri.endswith(".safetensors")]:
        content = gallery_page(Path(file.abs_src_path or ""))
        files.remove(file)
        files.append(File.generated(config, file.src_uri.removesuffix(".safetensors") + ".html", content=content))
    return files


def gallery_page(path: Path) -> str:
    """The page of a field, as `staf export FIELD -o PAGE.html --half` writes it."""
    import staf
    from staf.viewer import page

    return page(staf.load(path), half=True)
