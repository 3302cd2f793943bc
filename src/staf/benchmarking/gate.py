"""The gate: no number is reported unless every operation it rests on is right, here and now.

Each operation is compared with its formula in float64 on fresh random inputs, forward, first and second gradients,
and each library network with its released twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor

from staf import ops
from staf._documents import Document
from staf.benchmarking.cases import Case
from staf.benchmarking.released_networks import ReleasedNetwork
from staf.ops.linear import ProductPrecision, linear, product_precision
from staf.ops.squared_error import weighted_squared_error

GRADIENT_TOLERANCE = 1e-4
# A network multiplies the rounding of its first layer by its gain.
NETWORK_TOLERANCE = 1e-2
PRODUCT_TOLERANCE = {"fp32": 1e-5, "bf16x3": 1e-4, "tf32": 3e-3}
# Sines multiply the rounding of the product beneath them by their frequency.
LAYER_TOLERANCE = {"fp32": 1e-4, "bf16x3": 1e-3, "tf32": 3e-2}
# Many sinusoids beside tf32 products may have kernels of their own, whose values and gradients are off by this at most.
REDUCED_TERMS, REDUCED_TOLERANCE = 50, 2e-5
POINTS, WIDTH = 523, 256


class GateError(RuntimeError):
    """An operation is wrong on this machine, so its speed means nothing."""


@dataclass(frozen=True)
class Check:
    """One comparison: the error, and what it may be."""

    what: str
    error: float
    tolerance: float
    backends: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance


Operation = Callable[..., Tensor]


def check_cases(cases: Sequence[Case], device: str, seed: int) -> list[Document]:
    """Check every operation that the cases use; raise `GateError` if one is wrong."""
    generator = torch.Generator().manual_seed(seed)
    checks: list[Check] = []
    trained = any(case.trains for case in cases)
    for precision in sorted({version.precision for case in cases for version in case.versions if version.ours}):
        checks += check_linear(precision, device, generator)
        if trained:
            checks.append(check_layer(precision, device, generator))
    for terms in sorted({case.terms for case in cases if case.terms is not None}):
        checks += check_series(terms, device, generator)
    if any(case.terms is not None and version.precision == "tf32" for case in cases for version in case.versions):
        checks += check_reduced(device, generator)
    if any(case.batched for case in cases):
        checks += check_series(5, device, generator, networks=3)
    for model in sorted({case.model for case in cases}):
        if model in POINTWISE:
            checks += check_pointwise(model, device, generator)
    for model, terms in sorted({(case.model, case.terms or 0) for case in cases}):
        checks.append(_check_network(model, terms, device, generator))
    wrong = [check for check in checks if not check.passed]
    if wrong:
        found = "; ".join(f"{check.what}: error {check.error:.2g}, at most {check.tolerance:.2g}" for check in wrong)
        raise GateError(f"nothing is reported, because the operations are wrong on {device}: {found}")
    return [asdict(check) for check in checks]


def check_series(
    terms: int, device: str, generator: torch.Generator, networks: int | None = None, operation: Operation | None = None
) -> list[Check]:
    """`ops.sine_series` with one set of sinusoids, or with one per network of a batch."""
    batch = () if networks is None else (networks,)
    sets = (terms,) if networks is None else (networks, 1, terms)
    x = torch.randn(*batch, POINTS, WIDTH, generator=generator)
    amplitude = torch.randn(sets, generator=generator)
    frequency = 30 * torch.rand(sets, generator=generator)
    phase = 3 * torch.randn(sets, generator=generator)

    def formula(x: Tensor, c: Tensor, w: Tensor, p: Tensor) -> Tensor:
        if networks is not None:
            c, w, p = c[:, None], w[:, None], p[:, None]
        return (c * torch.sin(w * x.unsqueeze(-1) + p)).sum(-1)

    name = f"sine_series tau {terms}" + ("" if networks is None else f", {networks} networks")
    largest = float(frequency.max() * x.abs().max() + phase.abs().max())
    scale = float(amplitude.abs().sum(-1).max())
    inputs = [x, amplitude, frequency, phase]
    return _compare(name, operation or ops.sine_series, formula, inputs, device, generator, scale, largest)


def check_reduced(device: str, generator: torch.Generator, operation: Operation | None = None) -> list[Check]:
    """`ops.sine_series` with many sinusoids beside tf32 products; second gradients are those of `check_series`."""
    use = operation or ops.sine_series

    def reduced(x: Tensor, c: Tensor, w: Tensor, p: Tensor) -> Tensor:
        with product_precision("tf32"):
            return use(x, c, w, p)

    checks = check_series(REDUCED_TERMS, device, generator, operation=reduced)[:2]
    return [replace(check, what=f"{check.what} beside tf32", tolerance=REDUCED_TOLERANCE) for check in checks]


def check_linear(precision: ProductPrecision, device: str, generator: torch.Generator) -> list[Check]:
    """The layers' products, of hidden width and of two coordinates."""
    checks = []
    for inputs in (WIDTH, 2):
        x = torch.randn(POINTS, inputs, generator=generator)
        weight = torch.randn(WIDTH, inputs, generator=generator) / inputs**0.5
        bias = torch.randn(WIDTH, generator=generator)

        def operation(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            with product_precision(precision):
                return linear(x, weight, bias).square()

        def formula(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return (x @ weight.T + bias).square()

        # Squared, so that there are second gradients; the values go up to about 30.
        name, tolerance = f"linear {precision}, {inputs} inputs", PRODUCT_TOLERANCE[precision if inputs > 8 else "fp32"]
        checks += _compare(name, operation, formula, [x, weight, bias], device, generator, 30.0, 0.0, tolerance)
    return checks


def check_layer(
    precision: ProductPrecision, device: str, generator: torch.Generator, operation: Operation | None = None
) -> Check:
    """The gradients of the loss of one activated layer by a plain backward pass, where kernels help each other."""

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    leaves = [draw(POINTS, WIDTH), draw(WIDTH, WIDTH) / WIDTH**0.5, draw(WIDTH), draw(5), 2 * draw(5), draw(5)]
    target, weight = draw(POINTS, WIDTH), torch.rand(POINTS, generator=generator)

    def gradients(loss: Operation, dtype: torch.dtype, where: str) -> list[Tensor]:
        inputs = [tensor.to(where, dtype).requires_grad_() for tensor in leaves]
        value = loss(*inputs, target.to(where, dtype), weight.to(where, dtype))
        if value.requires_grad:
            value.backward()
        return [torch.zeros_like(t, device="cpu") if t.grad is None else t.grad.double().cpu() for t in inputs]

    def formula(x: Tensor, w: Tensor, b: Tensor, c: Tensor, f: Tensor, p: Tensor, y: Tensor, v: Tensor) -> Tensor:
        z = (c * torch.sin(f * (x @ w.T + b).unsqueeze(-1) + p)).sum(-1)
        return (v[:, None] * (z - y) ** 2).sum() / WIDTH

    def ours(x: Tensor, w: Tensor, b: Tensor, c: Tensor, f: Tensor, p: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return weighted_squared_error(ops.sine_series(linear(x, w, b), c, f, p), y, v)

    exact = gradients(formula, torch.float64, "cpu")
    with product_precision(precision), ops.record_backends() as ran:
        found = gradients(operation or ours, torch.float32, device)
    backends = tuple(sorted({backend for _, backend in ran}))
    errors = [_relative(a, b) for a, b in zip(found, exact, strict=True)]
    return Check(f"layer and loss {precision}, gradients", max(errors), LAYER_TOLERANCE[precision], backends)


def _finer(x: Tensor, omega0: float) -> Tensor:
    return torch.sin(omega0 * (x.abs() + 1).detach() * x)


# Model -> its operation, its formula, its constant, and the largest argument for |x| up to 4.
POINTWISE: dict[str, tuple[Operation, Operation, float, float]] = {
    "siren": (ops.sine, lambda x, omega0: torch.sin(omega0 * x), 30.0, 120.0),
    "finer": (ops.finer, _finer, 30.0, 600.0),
    "gauss": (ops.gauss, lambda x, sigma: torch.exp(-((sigma * x) ** 2)), 10.0, 40.0),
}


def check_pointwise(
    model: str, device: str, generator: torch.Generator, operation: Operation | None = None
) -> list[Check]:
    """The activation of SIREN, FINER or Gauss."""
    standard, formula, constant, largest = POINTWISE[model]
    use = operation or standard
    x = torch.randn(POINTS, WIDTH, generator=generator).clamp(-4, 4)
    return _compare(
        model, lambda x: use(x, constant), lambda x: formula(x, constant), [x], device, generator, 1.0, largest
    )


def _compare(
    name: str,
    operation: Operation,
    formula: Operation,
    inputs: list[Tensor],
    device: str,
    generator: torch.Generator,
    scale: float,
    largest: float,
    least: float = 0.0,
) -> list[Check]:
    """Forward error over `scale`; gradients' errors over their own norm.

    Rounding an argument of size `largest` to float32 moves it by 2^-24 of that, which an operation may do once or
    twice without being wrong. `least` is the rounding that an operation is allowed by its own precision.
    """
    with torch.no_grad():
        shapes = (formula(*inputs).shape, inputs[0].shape)
    weights = [torch.randn(shape, generator=generator) for shape in shapes]
    exact = _orders(formula, [t.double() for t in inputs], [w.double() for w in weights])
    with ops.record_backends() as ran:
        found = _orders(operation, [t.to(device) for t in inputs], [w.to(device) for w in weights])
    backends = tuple(sorted({backend for _, backend in ran}))
    tolerance = max(least, 2e-6 + largest * 2.0**-23)
    forward = float((found[0][0] - exact[0][0]).abs().max()) / scale
    checks = [Check(f"{name}, forward", forward, tolerance, backends)]
    for order, what in ((1, "gradients"), (2, "second gradients")):
        errors = [_relative(a, b) for a, b in zip(found[order], exact[order], strict=True)]
        checks.append(Check(f"{name}, {what}", max(errors), max(least, GRADIENT_TOLERANCE), backends))
    return checks


def _orders(function: Operation, inputs: list[Tensor], weights: list[Tensor]) -> list[list[Tensor]]:
    """[value], its gradients in every input, and the gradients of <v, d value / dx>, on the CPU in float64."""
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    value = function(*leaves)
    first = _gradients(value, leaves, weights[0], create_graph=True)
    second = _gradients(first[0], leaves, weights[1], create_graph=False)
    return [[tensor.detach().double().cpu() for tensor in part] for part in ([value], first, second)]


def _gradients(output: Tensor, leaves: list[Tensor], weight: Tensor, *, create_graph: bool) -> tuple[Tensor, ...]:
    """d <weight, output> / d leaf; one that an operation has lost is zero, which is as wrong as it looks."""
    if not output.requires_grad:
        return tuple(torch.zeros_like(leaf) for leaf in leaves)
    return torch.autograd.grad(output, leaves, weight, create_graph=create_graph, materialize_grads=True)


def _relative(found: Tensor, exact: Tensor) -> float:
    difference = float((found - exact).norm() / exact.norm())
    return difference if difference == difference else float("inf")


def _check_network(model: str, terms: int, device: str, generator: torch.Generator) -> Check:
    """Ours and the released form must be one function: the relative error of values from the same weights."""
    case = Case("train", model, 1, terms=terms or None)  # type: ignore[arg-type]
    field = case.field("cpu", seed=int(torch.randint(2**31, (), generator=generator)))
    coordinates = 2 * torch.rand(POINTS, 2, generator=generator) - 1
    with torch.no_grad():
        exact = ReleasedNetwork(field.double())(coordinates.double())
        found = field.float().to(device)(coordinates.to(device)).double().cpu()
    return Check(f"network {case.network}", _relative(found, exact), NETWORK_TOLERANCE)
