"""What torch's exporter and its simplifier are told, or spared, while they work; every change is undone afterwards.

Each reaches into a library. Where another version of it lacks the place, nothing is changed and nothing is saved.
"""

import contextlib
import functools
import gc
import io
import logging
import numbers
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import onnx_ir as ir
import torch
from torch import Tensor


@contextlib.contextmanager
def for_tracing() -> Iterator[None]:
    """All that holds while a module is traced."""
    with quiet(), tables_made_once(), without_stack_traces(), without_garbage_collection(), numbers_keep_their_value():
        yield


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """The exporter prints progress and warns of every weight that has no value; neither is news here."""
    names = ("onnxscript", "onnx_ir", "torch.onnx", "torch.export", "torch._dynamo")
    before = {name: logging.getLogger(name).level for name in names}
    os.environ.setdefault("TORCH_ONNX_DISABLE_PROGRESS", "1")
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def numbers_keep_their_value() -> Iterator[None]:
    """`torch.tensor(number, device="meta")` becomes `torch.full`, which a graph keeps: a tensor on the meta device has no content."""

    def keeping(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @functools.wraps(original)
        def tensor(data: Any, *, dtype: Any = None, device: Any = None, **settings: Any) -> Tensor:
            if not isinstance(data, numbers.Number) or device is None or torch.device(device).type != "meta":
                return original(data, dtype=dtype, device=device, **settings)
            if dtype is None and isinstance(data, float):
                dtype = torch.get_default_dtype()
            return torch.full((), data, dtype=dtype, device=device, **settings)

        return tensor

    with _replaced(torch, "tensor", keeping):
        yield


@contextlib.contextmanager
def tables_made_once() -> Iterator[None]:
    """The exporter's tables of operators and of decompositions are made once a process instead of once a call: seconds each."""
    from torch.onnx._internal.exporter import _decomp, _registration

    def registry_once(original: classmethod) -> staticmethod:
        made = functools.cache(original.__get__(None, _registration.ONNXRegistry))
        return staticmethod(_tables.setdefault("registry", made))

    def decompositions_once(original: Callable[..., dict]) -> Callable[..., dict]:
        made = _tables.setdefault("decompositions", functools.cache(lambda operators: original(set(operators))))
        return lambda operators: dict(made(frozenset(operators)))  # a copy: the caller takes entries out

    with (
        _replaced(_registration.ONNXRegistry, "from_torchlib", registry_once),
        _replaced(_decomp, "create_onnx_friendly_decomposition_table", decompositions_once),
    ):
        yield


_tables: dict[str, Callable[..., Any]] = {}


@contextlib.contextmanager
def without_stack_traces() -> Iterator[None]:
    """Tracing does not format the Python stack of every operator: nothing of it stays in the graph."""
    from torch.fx import config

    with _replaced(config, "do_not_emit_stack_traces", lambda _: True):
        yield


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """The collector of cycles waits while a graph grows: it would walk millions of objects that all still live."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@contextlib.contextmanager
def rules_by_operator() -> Iterator[None]:
    """A rewrite rule looks at the nodes of its own operator alone: the simplifier tries each rule on every node.

    A pattern's first output is matched against the node itself, so that another operator can only fail; a rule of several outputs
    lists the whole graph before it finds out, which made the time grow with the square of the nodes.
    """
    from onnxscript.rewriter import MatchResult
    from onnxscript.rewriter._matcher import SimplePatternMatcher

    def for_own_operator(original: Callable[..., Any]) -> Callable[..., Any]:
        def match(self: Any, model: Any, graph: Any, node: ir.Node, **settings: Any) -> Any:
            wanted = self.pattern.output_nodes[0].op_identifier()
            if wanted is not None and wanted != node.op_identifier():
                return MatchResult().fail("another operator")
            return original(self, model, graph, node, **settings)

        return match

    with _replaced(SimplePatternMatcher, "match", for_own_operator):
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, replacement: Callable[[Any], Any]) -> Iterator[None]:
    """`owner.name` is `replacement(original)` meanwhile; nothing changes where the owner lacks the name."""
    original = vars(owner).get(name)
    if original is None:
        yield
        return
    setattr(owner, name, replacement(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
