"""From a sample to a module that can run: built without the libraries' slow initialisers, with sane random weights."""

import logging
import math
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch
from torch.overrides import TorchFunctionMode

from nnirp.catalog.configurations import Sample, SourceConfiguration
from nnirp.catalog.errors import BuilderError
from nnirp.catalog.registry import Request, find_builder
from nnirp.errors import MissingDependencyError, NnirpError

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
#: Biases get this range, so that activations of deep networks without normalisation never fade into denormals.
BIAS_RANGE = 0.1

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuiltModel:
    """A module in eval mode and its keyword inputs: `module(**inputs)` is the forward pass that inference runs."""

    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]


def build(configuration: SourceConfiguration, sample: Sample, device: str = "cpu") -> BuiltModel:
    """Build one sample on a device; on "meta" nothing is allocated.

    The module is in eval mode without gradients; weights and inputs are random, finite and the same at every call.
    Integer inputs keep their type, floating ones and the module have the sample's precision.
    Raises MissingDependencyError where the model library is absent, BuilderError where the builder fails in it.
    """
    request = Request(configuration.arguments | sample.arguments, sample.batch, sample.size, sample.mode)
    try:
        function = find_builder(configuration.builder, configuration.family)
        with torch.random.fork_rng(devices=[]), torch.device(device):
            torch.manual_seed(0)
            with _SkipRandomInitialisers(), torch.no_grad():
                module, inputs = function(request)
            module = module.eval().requires_grad_(False)
            if device != "meta":
                _fill(module)
            dtype = PRECISIONS[sample.precision]
            module = module.to(dtype)
            inputs = {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}
    except NnirpError:
        raise
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{sample.name}: builder {configuration.builder!r} needs {error.name}; `pip install 'nnirp[models]'`"
        ) from error
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise BuilderError(
            f"{sample.name}: builder {configuration.builder!r} fails with {_library_version(configuration.library)}: "
            f"{type(error).__name__}: {reason}"
        ) from error
    return BuiltModel(module, inputs)


class _SkipRandomInitialisers(TorchFunctionMode):
    """Turns the random in-place initialisers into no-ops: `_fill` sets every weight anyway, and much faster."""

    # by name: transformers puts wrappers in the place of torch.nn.init's functions
    skipped = frozenset(
        {"uniform_", "normal_", "erfinv_", "trunc_normal_", "orthogonal_"}
        | {f"{scheme}_{kind}_" for scheme in ("kaiming", "xavier") for kind in ("uniform", "normal")}
    )

    def __enter__(self):
        # torch draws again and again until every number is in range, which no number is that is not drawn at all.
        self._drawing, torch.nn.init._no_grad_trunc_normal_ = torch.nn.init._no_grad_trunc_normal_, _untouched
        return super().__enter__()

    def __exit__(self, *error):
        torch.nn.init._no_grad_trunc_normal_ = self._drawing
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in self.skipped:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def _untouched(tensor: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
    return tensor


@torch.no_grad()
def _fill(module: torch.nn.Module) -> None:
    """Set every parameter: matrices and kernels by fan-in, biases near 0, gains and scales near 1."""
    draw = _Uniform()
    for name, parameter in module.named_parameters():
        if parameter.ndim >= 2:
            fan_in = max(parameter.numel() // parameter.shape[0], 1)
            gain = 2.0 if parameter.ndim >= 4 else 1.0  # convolutions are followed by rectifiers (He et al., 2015)
            draw(parameter, 0.0, math.sqrt(3.0 * gain / fan_in))
        elif name.rsplit(".", 1)[-1].startswith(("bias", "b_")) or name.endswith(("_bias", "beta")):
            draw(parameter, 0.0, BIAS_RANGE)
        elif not getattr(parameter, "keep_initial_value", False):
            draw(parameter, 1.0, BIAS_RANGE)


class _Uniform:
    """Fills tensors from one pool of random numbers, read on and on: ten times faster than drawing each number.

    The pool's length is a prime, so that no two rows of a matrix begin at the same place of it.
    """

    length = 1_048_573

    def __init__(self) -> None:
        self.pool, self.at = torch.empty(self.length, device="cpu").uniform_(-1.0, 1.0), 0

    def __call__(self, parameter: torch.Tensor, middle: float, half_range: float) -> None:
        """Set every element to a number of `middle` ± `half_range`."""
        done = 0
        flat = parameter.view(-1) if parameter.is_contiguous() else torch.empty(parameter.numel())
        while done < len(flat):
            count = min(len(flat) - done, self.length - self.at)
            torch.mul(self.pool[self.at : self.at + count], half_range, out=flat[done : done + count])
            done, self.at = done + count, (self.at + count) % self.length
        if middle:
            flat.add_(middle)
        if not parameter.is_contiguous():
            parameter.copy_(flat.view(parameter.shape))


def _library_version(library: str) -> str:
    if library == "nnirp":
        return f"torch {torch.__version__}"
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"{library} (not installed)"
