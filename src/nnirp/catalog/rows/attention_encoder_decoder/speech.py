"""Speech to text: 303, 319–325."""

from typing import Any

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_SPEECH = "speech_encoder_decoder"
#: A quarter of a window of thirty seconds and less, so that the sizes and not the window decide the time.
_WHISPER_SIZES = zip_sweep(
    d_model=(128, 256, 384),
    encoder_layers=(2, 6, 4),
    decoder_layers=(4, 2, 4),
    encoder_attention_heads=(2, 4, 6),
    decoder_attention_heads=(2, 4, 6),
    encoder_ffn_dim=(512, 1024, 1536),
    decoder_ffn_dim=(512, 1024, 1536),
    max_source_positions=(375, 250, 150),
)


def _layers(depth: int, width: int, heads: int) -> dict[str, int]:
    return {
        "d_model": width,
        "encoder_layers": depth,
        "decoder_layers": depth,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": 4 * width,
        "decoder_ffn_dim": 4 * width,
    }


def _whisper(identifier: int, name: str, *more: Grid, starter: tuple[Grid, ...] = (), **sizes: Any) -> Row:
    arguments = {"model_type": "whisper", **sizes}
    return Row(identifier, name, _SPEECH, "speech_to_text", arguments, "transformers", "seq", starter, more)


ROWS = (
    _whisper(
        303,
        "openai/whisper-tiny",
        Grid(((4, 3), (32, 2), (32, 3))),
        Grid(points((32,), (1, 2, 3, 4, 6, 8)), mode="decode"),
        starter=(Grid(((4, 1), (4, 2), (32, 1))),),
        **_layers(4, 384, 6),
    ),
    _whisper(
        319,
        "openai/whisper-base",
        Grid(((4, 1),)),
        Grid(points((32,), (1, 2, 4, 6, 8)), mode="decode"),
        **_layers(6, 512, 8),
    ),
    _whisper(
        320,
        "openai/whisper-small",  # whose encoder takes a core longer than a sample may
        Grid(points((32,), (1, 2, 4, 6)), mode="decode"),
        **_layers(12, 768, 12),
    ),
    hub(
        321,
        "facebook/s2t-small-librispeech-asr",
        _SPEECH,
        "filter_banks_to_text",
        "frames",
        Grid(points((400,), (1, 2, 4, 8, 16))),
        model_type="speech_to_text",
    ),
    hub(
        322,
        "UsefulSensors/moonshine-tiny",
        _SPEECH,
        "waveform_to_text",
        "frames",
        Grid(points((64000,), (1, 2, 4, 8))),
        model_type="moonshine",
    ),
    hub(
        323,
        "UsefulSensors/moonshine-base",
        _SPEECH,
        "waveform_to_text",
        "frames",
        Grid(points((32000,), (1, 2, 4, 8))),
        model_type="moonshine",
        hidden_size=416,
        intermediate_size=1664,
        encoder_num_hidden_layers=8,
        decoder_num_hidden_layers=8,
    ),
    hub(
        324,
        "microsoft/speecht5_asr",
        _SPEECH,
        "waveform_to_text",
        "frames",
        Grid(points((16000,), (1, 2, 3, 4, 6))),
        model_type="speecht5",
    ),
    parametric(
        325,
        "whisper-parametric",
        _SPEECH,
        "speech_to_text",
        "seq",
        Grid(points((8,), (1, 2, 3, 4, 6, 8, 12)), _WHISPER_SIZES),
        Grid(points((48,), (1, 2, 3, 4, 8, 16, 24)), _WHISPER_SIZES[:2], mode="decode"),
        arguments={"model_type": "whisper"},
    ),
)
