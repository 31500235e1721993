"""Encoders of waveforms and spectrograms."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_AUDIO = "audio_encoder"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
#: Half a second and two seconds at 16 kHz.
_BASE = Grid((*points((8000,), (1, 2, 3, 4, 6)), *points((32000,), (1, 2))))
_SMALL = Grid((*points((8000,), (1, 2, 4, 8, 16)), *points((32000,), (1, 2, 3, 4))))
_WAV2VEC2_SIZES = zip_sweep(
    hidden_size=(96, 192, 256, 384),
    num_hidden_layers=(4, 8, 6, 4),
    num_attention_heads=(3, 6, 4, 6),
    intermediate_size=(384, 768, 1024, 1536),
    conv_dim=((64,) * 7, (128,) * 7, (96, 96, 128, 128, 128, 192, 192), (256,) * 7),
)
_CONFORMER_SIZES = zip_sweep(
    hidden_size=(96, 144, 256, 384),
    num_hidden_layers=(4, 8, 6, 4),
    num_attention_heads=(3, 4, 4, 6),
    intermediate_size=(384, 576, 1024, 1536),
    conv_depthwise_kernel_size=(15, 31, 31, 9),
)
_SPECTROGRAM_SIZES = zip_sweep(
    hidden_size=(128, 192, 256, 384),
    num_hidden_layers=(4, 12, 8, 6),
    num_attention_heads=(2, 3, 4, 6),
    intermediate_size=(512, 768, 1024, 1536),
    time_stride=(16, 10, 16, 10),
)
_PARAKEET_SIZES = zip_sweep(
    hidden_size=(128, 176, 256, 512),
    num_hidden_layers=(4, 16, 8, 4),
    num_attention_heads=(4, 4, 4, 8),
    intermediate_size=(512, 704, 1024, 2048),
    subsampling_conv_channels=(64, 128, 128, 256),
)

ROWS = (
    Row(
        210,
        "facebook/wav2vec2-base",
        "audio_encoder",
        "waveform_encoder",
        {"model_type": "wav2vec2"},
        "transformers",
        "frames",
        (Grid(((8000, 1), (8000, 2), (16000, 1), (24000, 1))),),
        (Grid(((8000, 3), (8000, 4), (8000, 6), (8000, 8), (16000, 2), (48000, 1))),),
    ),
    hub(292, "facebook/hubert-base-ls960", _AUDIO, "waveform_encoder", "frames", _BASE, model_type="hubert"),
    hub(293, "microsoft/wavlm-base", _AUDIO, "waveform_encoder", "frames", _BASE, model_type="wavlm"),
    hub(294, "microsoft/unispeech-sat-base", _AUDIO, "waveform_encoder", "frames", _BASE, model_type="unispeech-sat"),
    hub(
        295,
        "asapp/sew-tiny-100k",
        _AUDIO,
        "waveform_encoder",
        "frames",
        _SMALL,
        model_type="sew",
        hidden_size=512,
        num_attention_heads=8,
        intermediate_size=2048,
    ),
    hub(
        296,
        "asapp/sew-d-tiny-100k",
        _AUDIO,
        "waveform_encoder",
        "frames",
        _SMALL,
        model_type="sew-d",
        hidden_size=384,
        num_attention_heads=6,
        intermediate_size=1536,
        num_conv_pos_embeddings=31,
        hidden_act="gelu",
    ),
    hub(297, "facebook/data2vec-audio-base", _AUDIO, "waveform_encoder", "frames", _BASE, model_type="data2vec-audio"),
    hub(
        298,
        "MIT/ast-finetuned-audioset-10-10-0.4593",
        _AUDIO,
        "spectrogram_classifier",
        "frames",
        Grid((*points((128,), (1, 2, 3, 4)), (512, 1))),
        model_type="audio-spectrogram-transformer",
        num_labels=527,
    ),
    hub(
        299,
        "google/medasr",
        _AUDIO,
        "filter_bank_encoder",
        "frames",
        Grid((*points((200,), (1, 2, 3, 4, 8)), *points((800,), (1, 2)))),
        model_type="lasr_encoder",
    ),
    hub(
        2000,
        "facebook/w2v-bert-2.0",
        _AUDIO,
        "filter_bank_encoder",
        "frames",
        Grid(((32, 1), (100, 1))),
        model_type="wav2vec2-bert",
    ),
    parametric(
        2001,
        "wav2vec2-parametric",
        _AUDIO,
        "waveform_encoder",
        "frames",
        Grid((*points((8000,), _BATCHES), *points((32000,), _BATCHES[:4])), _WAV2VEC2_SIZES),
        arguments={"model_type": "wav2vec2"},
    ),
    parametric(
        2002,
        "wav2vec2-conformer-parametric",
        _AUDIO,
        "waveform_encoder",
        "frames",
        Grid((*points((8000,), _BATCHES), *points((24000,), _BATCHES[:4])), _CONFORMER_SIZES),
        arguments={"model_type": "wav2vec2-conformer", "conv_dim": (128,) * 7},
    ),
    parametric(
        2003,
        "audio-spectrogram-parametric",
        _AUDIO,
        "spectrogram_classifier",
        "frames",
        Grid((*points((128,), _BATCHES), *points((512,), _BATCHES[:4])), _SPECTROGRAM_SIZES),
        arguments={"model_type": "audio-spectrogram-transformer", "num_labels": 527},
    ),
    parametric(
        2004,
        "parakeet-parametric",
        _AUDIO,
        "filter_bank_encoder",
        "frames",
        Grid((*points((200,), _BATCHES), *points((600,), _BATCHES[:4])), _PARAKEET_SIZES),
        arguments={"model_type": "parakeet_encoder"},
    ),
)
