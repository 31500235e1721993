"""Recurrent decoders that keep their state in their own way, not in the library's cache."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.attention_decoder.cache import cached_tensors, filled_cache
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


class StateDecoding(nn.Module):
    """One token after a state: `state_<i>` [batch, width, layers] are inputs; returns the logits and the next state."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, **states: Tensor) -> tuple[Tensor, ...]:
        # The library writes into the state that it gets.
        state = [states[f"state_{number}"].clone() for number in range(len(states))]
        result = self.model(input_ids=input_ids, state=state, use_cache=True, return_dict=True)
        return (result.logits, *result.state)


@builder("receptance_weighted_key_value")
def receptance_weighted_key_value(request: Request) -> Built:
    """RWKV: ids [batch, size] → logits of the last token. Decode: one token more, whatever `size` says of the past.

    The state is the last input of both blocks, and the numerator, denominator and largest exponent of the attention. A step has
    batch 1: the library pairs every entry of a larger batch with every other one's last input.
    """
    model, configuration = create("AutoModelForCausalLM", request.arguments)
    if request.mode != "decode":
        inputs = {"input_ids": token_ids(request.batch, request.size, configuration.vocab_size)}
        return TensorOutputs(model, ("logits",), use_cache=False, logits_to_keep=1), inputs
    shape = (request.batch, configuration.hidden_size, configuration.num_hidden_layers)
    states = {f"state_{number}": torch.rand(shape) for number in range(5)}
    return StateDecoding(model), {"input_ids": token_ids(request.batch, 1, configuration.vocab_size), **states}


class GatedRecurrence(nn.Module):
    """A RecurrentGemma whose recurrent blocks have their states as inputs: the library keeps them as attributes.

    Without a past it returns the logits of the last token; after `past` tokens the logits of the new one, then keys and values
    of the attention layers, then the states of the recurrent ones. No call leaves a state behind.
    """

    def __init__(self, model: nn.Module, past: int | None = None):
        super().__init__()
        self.model = model
        self.past = past

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **held: Tensor) -> Tensor | tuple[Tensor, ...]:
        blocks = {n: layer.temporal_block for n, layer in enumerate(self.model.model.layers)}
        blocks = {number: block for number, block in blocks.items() if hasattr(block, "rg_lru")}
        cache = None
        if self.past is not None:
            cache = filled_cache(self.model.config, self.past, held)
            for number, block in blocks.items():
                block.conv1d_state = held[f"window_{number}"]
                block.rg_lru.recurrent_states = held[f"state_{number}"]
        logits = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            cache=cache,
            use_cache=cache is not None,
            logits_to_keep=1,
            return_dict=True,
        ).logits
        states = [s for block in blocks.values() for s in (block.conv1d_state, block.rg_lru.recurrent_states)]
        for block in blocks.values():
            block.conv1d_state = block.rg_lru.recurrent_states = None
        return logits if cache is None else (logits, *cached_tensors(cache).values(), *states)


@builder("real_gated_recurrence")
def real_gated_recurrence(request: Request) -> Built:
    """RecurrentGemma: ids and mask [batch, size] → logits of the last token. Decode: one token more, `size` is the past.

    Attention layers have `past_key_<layer>` and `past_value_<layer>` [batch, heads, past, dim], recurrent ones the last inputs of
    their convolution `window_<layer>` [batch, width, kernel − 1] and `state_<layer>` [batch, width].
    """
    model, configuration = create("AutoModelForCausalLM", request.arguments)
    batch, vocabulary = request.batch, configuration.vocab_size
    if request.mode != "decode":
        mask = torch.ones(batch, request.size, dtype=torch.int64)
        return GatedRecurrence(model), {
            "input_ids": token_ids(batch, request.size, vocabulary),
            "attention_mask": mask,
        }
    mask = torch.ones(batch, request.size + 1, dtype=torch.int64)
    inputs = {"input_ids": token_ids(batch, 1, vocabulary), "attention_mask": mask}
    for number, kind in enumerate(configuration.layers_block_type):
        if kind == "linear_attention":
            inputs[f"window_{number}"] = torch.randn(batch, configuration.lru_width, configuration.conv1d_width - 1)
            inputs[f"state_{number}"] = torch.randn(batch, configuration.lru_width)
        else:
            shape = (batch, configuration.num_key_value_heads, request.size, configuration.head_dim)
            inputs |= {f"past_{what}_{number}": torch.randn(shape) for what in ("key", "value")}
    return GatedRecurrence(model, request.size), inputs
