import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nnirp.features.strides import Layout, contiguous, expanded, permuted, reshaped

SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(
    SIZES, st.lists(st.sampled_from(["transpose", "expand", "narrow"]), max_size=3), st.randoms(use_true_random=False)
)
def test_a_reshape_is_a_view_exactly_where_torch_can_view(sizes, steps, random):
    tensor = torch.zeros(sizes)
    layout = Layout(tuple(sizes), contiguous(tuple(sizes)))
    for step in steps:
        if step == "transpose":
            order = list(range(tensor.dim()))
            random.shuffle(order)
            tensor, layout = tensor.permute(order), permuted(layout, tuple(order))
        elif step == "expand":
            tensor = tensor.expand([random.choice([2, 3]) if size == 1 else size for size in tensor.shape])
            layout = expanded(layout, tuple(tensor.shape))
        elif tensor.shape[0] > 1:
            tensor = tensor.narrow(0, 0, tensor.shape[0] - 1)
            layout = Layout(tuple(tensor.shape), layout.strides)
    target, left = [], tensor.numel()
    while left > 1:
        target.append(random.choice([d for d in range(2, left + 1) if left % d == 0]))
        left //= target[-1]
    target.insert(random.randint(0, len(target)), 1)
    try:
        viewed = tensor.view(target).stride()
    except RuntimeError:
        viewed = None
    found = reshaped(layout, tuple(target))
    assert (found is None) == (viewed is None)
    if found is not None:
        assert [s for s, n in zip(found.strides, target, strict=True) if n > 1] == [
            s for s, n in zip(viewed, target, strict=True) if n > 1
        ]
