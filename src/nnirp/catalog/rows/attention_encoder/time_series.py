"""Transformers and mixers over patches of time series."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_SERIES = "time_series_encoder"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
_PATCHTST_SIZES = zip_sweep(
    d_model=(64, 128, 192, 256),
    num_attention_heads=(4, 8, 6, 8),
    num_hidden_layers=(3, 3, 6, 8),
    ffn_dim=(128, 512, 768, 1024),
    num_input_channels=(7, 7, 3, 21),
)
_MIXER_SIZES = zip_sweep(
    d_model=(16, 48, 96, 192),
    expansion_factor=(2, 3, 2, 4),
    num_layers=(4, 8, 6, 12),
    mode=("common_channel", "mix_channel", "common_channel", "mix_channel"),
    num_input_channels=(7, 21, 7, 11),
)

ROWS = (
    Row(
        212,
        "patchtst",
        "time_series_encoder",
        "time_series_encoder",
        {
            "model_type": "patchtst",
            "num_input_channels": 7,
            "patch_length": 16,
            "patch_stride": 8,
            "d_model": 128,
            "num_attention_heads": 16,
            "num_hidden_layers": 3,
            "ffn_dim": 256,
        },
        "transformers",
        "steps",
        (Grid(points((336, 512), (4, 16))),),
        (Grid(points((336, 512), (1, 2, 8, 32))),),
    ),
    hub(
        2020,
        "patchtsmixer",
        _SERIES,
        "time_series_encoder",
        "steps",
        Grid(points((512,), (1, 4, 8, 16, 32, 64))),
        model_type="patchtsmixer",
        num_input_channels=7,
        d_model=48,
        expansion_factor=3,
    ),
    hub(
        2021,
        "google/timesfm-2.5-200m-transformers",
        _SERIES,
        "univariate_encoder",
        "steps",
        Grid((*points((256,), (1, 2, 4, 8, 16)), *points((1024,), (1, 2, 4, 6)))),
        model_type="timesfm2_5",
    ),
    parametric(
        2022,
        "patchtst-parametric",
        _SERIES,
        "time_series_encoder",
        "steps",
        Grid((*points((256,), _BATCHES), *points((768,), _BATCHES[:4])), _PATCHTST_SIZES),
        arguments={"model_type": "patchtst", "patch_length": 16, "patch_stride": 8},
    ),
    parametric(
        2023,
        "patchtsmixer-parametric",
        _SERIES,
        "time_series_encoder",
        "steps",
        Grid((*points((256,), _BATCHES), *points((1024,), _BATCHES[:4])), _MIXER_SIZES),
        arguments={"model_type": "patchtsmixer"},
    ),
)
