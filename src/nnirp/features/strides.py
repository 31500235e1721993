"""Which reshapes copy: strides of views as PyTorch's eager mode has them."""

from typing import NamedTuple

from nnirp.features.costs.elementwise import ELEMENTWISE_FLOPS
from nnirp.features.graph import ABSENT, Graph, Node

Strides = tuple[int, ...]

# Element-wise kernels write their result in the memory order of their operand.
KEEPS_ORDER = frozenset(ELEMENTWISE_FLOPS) | {"Cast", "Gelu", "Max", "Min", "Sum"}


class Layout(NamedTuple):
    """A tensor that is not contiguous: its shape and the distance in elements of its neighbours along each axis."""

    shape: tuple[int, ...]
    strides: Strides


def contiguous(shape: tuple[int, ...]) -> Strides:
    """Row-major strides of a shape."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def permuted(layout: Layout, order: tuple[int, ...]) -> Layout:
    """The layout after a transpose to this order of axes."""
    return Layout(tuple(layout.shape[a] for a in order), tuple(layout.strides[a] for a in order))


def expanded(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout after broadcasting to a shape: new and repeated axes have stride 0."""
    missing = len(shape) - len(layout.shape)
    old = (1,) * missing + layout.shape
    strides = (0,) * missing + layout.strides
    return Layout(shape, tuple(0 if a != b else s for a, b, s in zip(old, shape, strides, strict=True)))


def reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """The layout after a reshape without moving data, or None where data must move.

    Runs of axes that lie one behind the other in memory can be cut anew, others cannot. Source: the rule that
    `torch.Tensor.view` documents (each new axis must be a sub-space of an old one, or span old ones that are contiguous).
    """
    if 0 in layout.shape:
        return Layout(shape, contiguous(shape))
    runs = _runs(layout)
    strides: list[int] = []
    axes = list(reversed(shape))
    for size, step in runs:
        covered = 1
        while covered < size or (axes and axes[0] == 1):
            if not axes:
                return None
            strides.append(step * covered)
            covered *= axes.pop(0)
        if covered != size:
            return None
    strides += [1] * len(axes)
    return Layout(shape, tuple(reversed(strides)))


def _runs(layout: Layout) -> list[tuple[int, int]]:
    """Runs of axes without a gap, from the last: (elements, distance of neighbours)."""
    runs: list[tuple[int, int]] = []
    for size, stride in zip(reversed(layout.shape), reversed(layout.strides), strict=True):
        if size == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    return runs or [(1, 1)]


def is_view(graph: Graph, node: Node, layouts: dict[int, Layout]) -> bool:
    """Whether a node of `costs.movement.VIEWS` shares its operand's memory; notes the layout of its results.

    `layouts` has the tensors that are not contiguous. Sizes that are not known count as a view.
    """
    source, target = node.inputs[0], node.outputs[0]
    layout, shape = layouts.get(source), graph.shape(target) if target != ABSENT else None
    moves_axes = node.op in ("Transpose", "Expand", "Slice", "Split")
    if (layout is None and not moves_axes) or shape is None or min(shape, default=0) < 0 or not graph.is_static(source):
        return True
    if layout is None:
        own = graph.shape(source)
        layout = Layout(own, contiguous(own))
    if node.op == "Transpose":
        order = graph.attributes[node.attributes].get("perm") or range(len(layout.shape) - 1, -1, -1)
        if sorted(order) != list(range(len(layout.shape))):
            return True
        found = permuted(layout, tuple(order))
    elif node.op == "Expand":
        found = expanded(layout, shape) if len(shape) >= len(layout.shape) else layout
    elif node.op in ("Slice", "Split"):
        strides = _stepped(graph, node, layout.strides) if node.op == "Slice" else layout.strides
        for tensor in node.outputs:
            own = graph.shape(tensor) if tensor != ABSENT else None
            if own is not None and len(own) == len(strides):
                layouts[tensor] = Layout(own, strides)
        return True
    else:
        found = reshaped(layout, shape)
        if found is None:
            return False
    if found.strides != contiguous(found.shape):
        layouts[target] = found
    return True


def keep_order(graph: Graph, node: Node, layouts: dict[int, Layout]) -> None:
    """An element-wise result lies in memory as the first operand of its shape does."""
    shape = graph.shape(node.outputs[0])
    for tensor in node.inputs:
        layout = layouts.get(tensor)
        if layout is not None and layout.shape == shape and _is_dense(layout):
            layouts[node.outputs[0]] = layout
        if tensor != ABSENT and graph.shape(tensor) == shape:
            return


def _is_dense(layout: Layout) -> bool:
    """Whether the elements fill their memory without a gap or an overlap, in whatever order of axes."""
    step = 1
    for stride, size in sorted(zip(layout.strides, layout.shape, strict=True)):
        if size > 1:
            if stride != step:
                return False
            step *= size
    return True


def _stepped(graph: Graph, node: Node, strides: Strides) -> Strides:
    """Strides after a slice whose steps are constants; a step that is not known counts as 1."""
    steps = graph.value(node.inputs[4]) if len(node.inputs) > 4 and node.inputs[4] != ABSENT else None
    if steps is None:
        return strides
    axes = graph.value(node.inputs[3]) if node.inputs[3] != ABSENT else None
    stepped = list(strides)
    for position, step in enumerate(steps.reshape(-1).tolist()):
        axis = int(axes.reshape(-1)[position]) if axes is not None and position < axes.size else position
        if -len(stepped) <= axis < len(stepped):
            stepped[axis] *= abs(int(step))
    return tuple(stepped)
