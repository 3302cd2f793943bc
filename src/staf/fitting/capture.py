"""The whole step in one CUDA graph: batch, forward, loss, backward, Adam, Muon, schedule, history."""

from __future__ import annotations

import torch
from torch import Tensor

from ..ops.linear import current_precision
from .replay import recording_stream
from .stepper import Stepper

WARM_UP = 3


class CapturedStepper(Stepper):
    """A `Stepper` whose step is recorded once and replayed, so that the host launches one graph a step.

    Recording needs a few real steps first (kernels compile, the optimiser makes its state); weights and optimiser
    state are put back afterwards, so a captured fit takes the same steps as an eager one. Where recording fails, the
    steps run eagerly and `notes` says why.
    """

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self._graphs: dict[str | None, torch.cuda.CUDAGraph | None] = {}

    def _run(self) -> None:
        key = current_precision()
        # What a step launches goes to the current GPU, which need not be the one that the network is on.
        with torch.cuda.device(self._counter.device):
            if key not in self._graphs:
                self._graphs[key] = self._record()
            graph = self._graphs[key]
            if graph is None:
                self.step()
            else:
                graph.replay()

    def _record(self) -> torch.cuda.CUDAGraph | None:
        parameters = self.optimiser.parameters
        counter = self._counter.clone()
        losses = self._losses.clone()
        weights = [parameter.detach().clone() for parameter in parameters]
        state = {name: value.clone() for name, value in self.optimiser.tensors().items()}
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM_UP):
                    self._counter.zero_()
                    self.step()
            torch.cuda.current_stream().wait_stream(side)
            self._put_back(weights, state)
            graph = torch.cuda.CUDAGraph()
            self._counter.copy_(counter)
            with torch.cuda.graph(graph, stream=recording_stream(self._counter.device)):
                self.step()
        except (RuntimeError, torch.AcceleratorError) as error:
            torch.cuda.synchronize()
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            self.notes.append(f"steps are launched one by one, because they could not be captured: {reason}")
            graph = None
        self._put_back(weights, state)
        self._counter.copy_(counter)
        self._losses.copy_(losses)
        return graph

    def _put_back(self, weights: list[Tensor], state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for parameter, weight in zip(self.optimiser.parameters, weights, strict=True):
                parameter.copy_(weight)
        for name, value in self.optimiser.tensors().items():
            if name in state:
                value.copy_(state[name])
            else:
                value.zero_()
