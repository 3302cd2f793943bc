"""The whole step in one CUDA graph: batch, forward, loss, backward, Adam, Muon, schedule, history."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops.backend import has_triton
from staf.ops.linear import current_precision
from staf.ops.linear.beside import side_by_side
from staf.ops.squared_error.autograd import ones
from staf.training.replay import recording_stream
from staf.training.stepper import Stepper

WARM_UP = 3


class CapturedStepper(Stepper):
    """A `Stepper` whose step is recorded once and replayed, so that the host launches one graph a step.

    The first steps are launched one by one (kernels compile, the optimiser makes its state); recording then runs
    nothing, so that a captured fit takes the same steps as an eager one. Where a task's `step_shape` changes, so do the
    shapes of what was recorded, and a new recording is made. Where recording fails, all steps are launched one by one
    and `notes` says why.
    """

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self._ones = ones(self._losses.shape[1], self._losses.device)
        self._is_noted = False
        self._shape: object = None
        self._graphs: dict[str | None, torch.cuda.CUDAGraph | None] = {}
        self._taken: dict[str | None, int] = {}

    def advance(self, rates: list[list[float]]) -> Tensor:
        shape = getattr(self.task, "step_shape", None)
        if shape != self._shape:
            self._shape = shape
            self._graphs.clear()
            self._taken.clear()
        self.is_warming_up = False
        return super().advance(rates)

    def _run(self) -> None:
        key = current_precision()
        # What a step launches goes to the current GPU, which need not be the one that the network is on.
        with torch.cuda.device(self._counter.device):
            taken = self._taken.get(key, 0)
            self._taken[key] = taken + 1
            if taken < WARM_UP:
                self.is_warming_up = True
                self._step_beside()
                return
            if key not in self._graphs:
                self._graphs[key] = self._record()
            graph = self._graphs[key]
            if graph is None:
                self.step()
            else:
                graph.replay()

    def _step_beside(self) -> None:
        """A step on a stream of its own, as the recorded one will be."""
        side, current = recording_stream(self._counter.device), torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            self.step()
        current.wait_stream(side)

    def _backward(self, loss: Tensor, whole: bool) -> None:
        if loss.numel() != self._ones.numel() or loss.dtype != self._ones.dtype:
            super()._backward(loss, whole)
            return

        def back() -> None:
            loss.backward(self._ones.view(loss.shape))

        if not whole or not has_triton():
            back()
            return
        # Nothing of the backward pass waits for what is written down, and the optimiser then finds its rates.
        side_by_side(back, lambda: self._note(loss.detach()), fork=True)
        self._is_noted = True

    def _note(self, loss: Tensor) -> None:
        if self._is_noted:
            self._is_noted = False
            return
        if not has_triton():
            super()._note(loss)
            return
        from staf.training.optim.step_triton import note_step

        note_step(self._counter, self._rates, self.optimiser.current_rates, loss, self._losses)

    def _record(self) -> torch.cuda.CUDAGraph | None:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        # A recording has memory of its own. torch's `cuda.graph` gives all unused memory back first, gigabytes for
        # each group of networks; here that is done where the recording might not fit otherwise.
        if torch.cuda.mem_get_info()[0] < torch.cuda.memory_reserved():
            torch.cuda.empty_cache()
        try:
            with torch.cuda.stream(recording_stream(self._counter.device)):
                graph.capture_begin()
                try:
                    self.step()
                finally:
                    graph.capture_end()
        except (RuntimeError, torch.AcceleratorError) as error:
            torch.cuda.synchronize()
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            self.notes.append(f"steps are launched one by one, because they could not be captured: {reason}")
            return None
        return graph
