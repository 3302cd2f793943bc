"""What `staf fit` prints of a finished fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from staf._messages import counted
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import Fit

MEASURES = {
    "ssim": "SSIM {:.4g}",
    "lpips": "LPIPS {:.4g}",
    "iou": "IoU {:.4f}",
    "chamfer": "Chamfer {:.3g}",
    "normal_consistency": "normal consistency {:.4f}",
    "worst_frame_psnr": "worst frame {:.2f} dB",
    "log_spectral_distance": "log-spectral distance {:.2f} dB",
}


def tell_fit(
    terminal: Terminal, fit: Fit, folder: Path, files: dict[str, str], *, file: Path | None, model: str, verbose: bool
) -> None:
    """The measures, the network and the report in three lines, or all of it as one JSON document."""
    parameters = sum(p.numel() for p in fit.module.parameters())
    for note in fit.notes:
        terminal.note(f"note: {note}")
    metrics = _metrics(fit, files)
    # A task that fits no samples, such as a signed distance, has no PSNR.
    words = {"psnr": f"{metrics['psnr']:.2f} dB PSNR"} if "psnr" in metrics else {}
    if "psnr_of_file" in metrics:
        words["psnr"] += f" ({metrics['psnr_of_file']:.2f} dB of the saved file)"
    others = {name: value for name, value in metrics.items() if not name.startswith("psnr")}
    words |= {
        name: MEASURES.get(name, name.replace("_", " ") + " {:.4g}").format(value) for name, value in others.items()
    }
    first = "psnr" if fit.signal is None else fit.signal.view.main_measure
    terminal.say(", ".join(words[name] for name in sorted(words, key=lambda name: name != first)))
    terminal.say(
        f"{model}, {parameters:,} parameters, {counted(fit.result.steps, 'step')} in {fit.result.seconds:.1f} s "
        f"on {fit.device} ({fit.stopped})"
    )
    terminal.say(f"report: {files['report']}")
    if verbose:
        for name, path in files.items():
            terminal.note(f"{name}: {path}")
    terminal.finish(
        {
            "verb": "fit",
            "file": str(file),
            "model": model,
            "out": str(folder),
            "files": files,
            "metrics": metrics,
            "parameters": parameters,
            "steps": fit.result.steps,
            "seconds": round(fit.result.seconds, 3),
            "stopped": fit.stopped,
            "seed": fit.result.seed,
            "device": fit.device,
            "reasons": list(fit.plan.reasons.values()),
            "notes": list(fit.notes),
        }
    )


def _metrics(fit: Fit, files: dict[str, str]) -> dict[str, float]:
    """The measures of the fit, and those that were made of what was written."""
    written = json.loads(Path(files["metrics"]).read_text(encoding="utf-8"))
    added = {name: written[name] for name in ("lpips", "psnr_of_file") if written.get(name) is not None}
    return {**fit.metrics, **added}
