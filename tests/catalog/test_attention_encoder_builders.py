import torch

from nnirp.catalog.builders.attention_encoder.document import boxes
from nnirp.catalog.builders.attention_encoder.text import SlidingWindowLongformer
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.registry import Request


def test_sliding_windows_give_what_the_library_gives_without_global_tokens():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    arguments = {"model_type": "longformer", "vocab_size": 50, "attention_window": 8, "onnx_export": True, **sizes}
    torch.manual_seed(0)
    model, _ = create("AutoModel", arguments)
    model.eval()
    inputs = {
        "input_ids": torch.randint(5, 50, (2, 32)),
        "attention_mask": torch.ones(2, 32, dtype=torch.int64),
    }
    with torch.inference_mode():
        expected = model(**inputs, global_attention_mask=torch.zeros(2, 32, dtype=torch.int64)).last_hidden_state
        assert torch.allclose(SlidingWindowLongformer(model)(**inputs), expected, atol=1e-5)


def test_boxes_lie_on_the_page_with_their_corners_in_order():
    left_top, right_bottom = boxes(Request({}, batch=3, size=40, mode="forward")).split(2, dim=-1)
    assert (left_top >= 0).all() and (left_top <= right_bottom).all() and (right_bottom <= 1000).all()


def test_a_models_own_class_serves_where_no_automatic_one_has_it():
    with torch.device("meta"):
        model, _ = create("CLIPSegForImageSegmentation", {"model_type": "clipseg"})
    assert type(model).__name__ == "CLIPSegForImageSegmentation"
