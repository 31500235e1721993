import pytest
import torch

from nnirp.catalog.builders.attention_decoder.cache import CachedDecoding, cached_tensors, random_past
from nnirp.catalog.builders.attention_decoder.own_state import GatedRecurrence, StateDecoding
from nnirp.catalog.builders.from_configuration import create

PAST = 9
SMALL = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "gpt_bigcode": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 2},
    "modernbert-decoder": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "local_attention": 8,  # the past is longer than the window
        "pad_token_id": 0,
    },
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
    "mamba2": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_heads": 4,
        "head_dim": 16,
        "state_size": 8,
        "n_groups": 1,
        "chunk_size": 8,
    },
    "falcon_h1": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 64,
        "mamba_d_ssm": 32,
        "mamba_n_heads": 2,
        "mamba_d_state": 8,
        "mamba_chunk_size": 8,
    },
    "recurrent_gemma": {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    },
    "rwkv": {"hidden_size": 32, "num_hidden_layers": 2, "rescale_every": 0},
}


def model_and_ids(model_type):
    arguments = {"model_type": model_type, "vocab_size": 60, **SMALL[model_type]}
    torch.manual_seed(0)
    model, _ = create("AutoModelForCausalLM", arguments)
    return model.eval(), torch.randint(5, 50, (2, PAST + 1)), arguments


@pytest.mark.parametrize("model_type", [m for m in SMALL if m not in ("rwkv", "recurrent_gemma")])
@torch.inference_mode()
def test_a_step_after_cached_tensors_gives_what_the_whole_text_gives(model_type):
    model, ids, arguments = model_and_ids(model_type)
    past = cached_tensors(model(input_ids=ids[:, :PAST], use_cache=True).cache)
    before = {name: tensor.clone() for name, tensor in past.items()}
    logits, *after = CachedDecoding(model, PAST)(input_ids=ids[:, PAST:], **past)
    assert torch.allclose(logits[:, -1], model(input_ids=ids, use_cache=False).logits[:, -1], atol=1e-4)
    assert len(after) == len(past)
    assert all(torch.equal(before[name], past[name]) for name in past)
    shapes = random_past("AutoModelForCausalLM", arguments, batch=2, size=PAST)
    assert {n: t.shape for n, t in shapes.items()} == {n: t.shape for n, t in past.items()}


@torch.inference_mode()
def test_gated_recurrences_take_their_states_and_leave_none_behind():
    model, ids, _ = model_and_ids("recurrent_gemma")
    mask = torch.ones_like(ids)
    expected = GatedRecurrence(model)(input_ids=ids, attention_mask=mask)
    held = {}
    for token in range(PAST + 1):  # one at a time: a prompt does not leave the window that a step reads
        if token == 0:
            held = {f"window_{n}": torch.zeros(2, 32, 3) for n in (0, 1)}
            held |= {f"state_{n}": torch.zeros(2, 32) for n in (0, 1)}
        inputs = {"input_ids": ids[:, token : token + 1], "attention_mask": mask[:, : token + 1]}
        logits, *present = GatedRecurrence(model, token)(**inputs, **held)
        names = ("past_key_2", "past_value_2", "window_0", "state_0", "window_1", "state_1")
        held = dict(zip(names, present, strict=True))
    assert torch.allclose(logits, expected, atol=1e-4)
    assert all(b.temporal_block.conv1d_state is None for b in model.model.layers[:2])


@torch.inference_mode()
def test_receptance_states_continue_a_text():
    model, ids, _ = model_and_ids("rwkv")
    ids = ids[:1]
    state = model(input_ids=ids[:, :PAST], use_cache=True).state
    past = {f"state_{number}": tensor for number, tensor in enumerate(state)}
    logits, *_ = StateDecoding(model)(input_ids=ids[:, PAST:], **past)
    assert torch.allclose(logits[:, -1], model(input_ids=ids, use_cache=False).logits[:, -1], atol=1e-4)
