import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache

from nnirp.catalog.builders.attention_encoder_decoder.step import CrossDecoding, cross_decoding_step
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.registry import Request, find_builder

SMALL = {"vocab_size": 64, "d_model": 32}
T5 = SMALL | {"model_type": "t5", "num_layers": 2, "num_heads": 2, "d_kv": 8, "d_ff": 64}
BART = (
    SMALL
    | {"model_type": "bart", "encoder_layers": 1, "decoder_layers": 3}
    | {
        f"{part}_{what}": value
        for part in ("encoder", "decoder")
        for what, value in (("attention_heads", 4), ("ffn_dim", 64))
    }
)


@pytest.mark.parametrize("arguments", [T5, BART], ids=["t5", "bart"])
def test_a_step_gives_the_logits_of_the_whole_answer_so_far(arguments):
    torch.manual_seed(0)
    model = create("AutoModelForSeq2SeqLM", arguments)[0].eval()
    source, answer = torch.randint(3, 64, (2, 9)), torch.randint(3, 64, (2, 5))
    with torch.inference_mode():
        expected = model(input_ids=source, decoder_input_ids=answer).logits[:, -1:]
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        known = model(input_ids=source, decoder_input_ids=answer[:, :-1], past_key_values=cache, use_cache=True)
        layers = len(cache.self_attention_cache.layers)
        inputs = {
            f"{kind}_{what}_{i}": getattr(layer, f"{what}s")
            for kind, part in (("past", cache.self_attention_cache), ("cross", cache.cross_attention_cache))
            for i, layer in enumerate(part.layers)
            for what in ("key", "value")
        }
        logits, *grown = CrossDecoding(model, layers)(answer[:, -1:], known.encoder_last_hidden_state, **inputs)
    assert torch.allclose(logits, expected, atol=1e-5)
    assert len(grown) == 2 * layers and all(tensor.shape[2] == 5 for tensor in grown)


@pytest.mark.parametrize(("arguments", "layers", "dimension"), [(T5, 2, 8), (BART, 3, 8)], ids=["t5", "bart"])
def test_the_inputs_of_a_step_have_the_shapes_of_its_decoder(arguments, layers, dimension):
    with torch.device("meta"):
        model, configuration = create("AutoModelForSeq2SeqLM", arguments)
        module, inputs = cross_decoding_step(model, batch=3, source=7, past=4)
    heads = configuration.num_attention_heads
    assert module.layers == layers and len(inputs) == 2 + 4 * layers
    assert inputs["past_key_1"].shape == (3, heads, 4, dimension)
    assert inputs["cross_value_1"].shape == (3, heads, 7, dimension)


def test_the_known_part_of_the_answer_is_an_argument():
    build = find_builder("text_to_text", "attention_encoder_decoder")
    module, inputs = build(Request(T5 | {"_decoder_tokens": 6}, batch=2, size=5, mode="forward"))
    assert inputs["decoder_input_ids"].shape == (2, 6)
    with torch.inference_mode():
        assert module.eval()(**inputs).shape == (2, 6, 64)
