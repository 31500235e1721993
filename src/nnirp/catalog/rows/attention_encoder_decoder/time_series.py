"""Forecasting transformers: 333–337. The published ones are described, not sized, by their articles; sizes are the library's."""

from nnirp.catalog.grids import Grid, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_SERIES = "time_series_encoder_decoder"
_BATCHES = (1, 2, 4, 8, 12, 16, 24, 32)
_SIZES = zip_sweep(
    d_model=(64, 128, 256),
    encoder_layers=(2, 3, 6),
    decoder_layers=(2, 4, 2),
    encoder_attention_heads=(2, 4, 8),
    decoder_attention_heads=(2, 4, 8),
    encoder_ffn_dim=(128, 512, 1024),
    decoder_ffn_dim=(128, 512, 1024),
    prediction_length=(24, 96, 48),
)
_MONTHLY = {"prediction_length": 24, "num_time_features": 2}

ROWS = (
    hub(
        333,
        "informer",
        _SERIES,
        "series_to_series",
        "steps",
        Grid(points((96,), _BATCHES)),
        model_type="informer",
        distil=False,  # halving the series between layers contradicts the mask that the library makes while it is traced
        **_MONTHLY,
    ),
    hub(
        334,
        "autoformer",
        _SERIES,
        "series_to_series",
        "steps",
        Grid(points((96,), _BATCHES)),
        model_type="autoformer",
        **_MONTHLY,
    ),
    hub(
        335,
        "time-series-transformer",
        _SERIES,
        "series_to_series",
        "steps",
        Grid(points((192,), _BATCHES)),
        model_type="time_series_transformer",
        d_model=32,
        encoder_layers=4,
        decoder_layers=4,
        **_MONTHLY,
    ),
    parametric(
        336,
        "time-series-transformer-parametric",
        _SERIES,
        "series_to_series",
        "steps",
        Grid(points((168,), _BATCHES), _SIZES),
        arguments={"model_type": "time_series_transformer", "num_time_features": 2},
    ),
    parametric(
        337,
        "informer-parametric",
        _SERIES,
        "series_to_series",
        "steps",
        Grid(points((96,), _BATCHES), _SIZES[:2]),
        arguments={"model_type": "informer", "num_time_features": 2, "distil": False},
    ),
)
