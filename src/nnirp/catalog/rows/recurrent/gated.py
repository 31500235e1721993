"""Stacks of LSTM or GRU layers: 601–603, 606–610."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import parametric

_GATED = "gated_recurrent_network"
_BATCHES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
_LSTM_SIZES = zip_sweep(
    hidden_size=(256, 256, 512, 512), num_layers=(2, 3, 2, 3), bidirectional=(False, True, False, True)
)
_GRU_SIZES = zip_sweep(hidden_size=(256, 512, 512), num_layers=(3, 2, 4), bidirectional=(True, False, False))
_TAGGER_SIZES = zip_sweep(
    cell=("lstm", "gru", "lstm"), embedding=(100, 200, 300), hidden_size=(100, 256, 512), num_layers=(1, 2, 3)
)
_FORECAST_SIZES = zip_sweep(cell=("lstm", "gru", "lstm"), hidden_size=(40, 160, 384), num_layers=(3, 2, 2))


def _row(identifier: int, name: str, builder: str, size_kind: str, *more: Grid, **arguments) -> Row:
    return Row(identifier, name, _GATED, builder, arguments, "nnirp", size_kind, more=more)


def _frames(sizes) -> Grid:
    return Grid(
        (
            *points((64,), tuple(b for b in _BATCHES if b != 4)),
            *points((128,), tuple(b for b in _BATCHES if b not in (1, 8))),
        ),
        sizes,
    )


ROWS = (
    Row(
        601,
        "lstm-parametric",
        _GATED,
        "sequence_classifier",
        {"cell": "lstm", "features": 64, "bidirectional": False, "classes": 32},
        "nnirp",
        "frames",
        (Grid(((64, 4), (128, 1), (128, 8)), _LSTM_SIZES),),
        (_frames(_LSTM_SIZES),),
        parametric=True,
    ),
    Row(
        602,
        "gru-parametric",
        _GATED,
        "sequence_classifier",
        {"cell": "gru", "features": 64, "bidirectional": False, "classes": 32},
        "nnirp",
        "frames",
        (Grid(((64, 4), (128, 1), (128, 8)), _GRU_SIZES),),
        (_frames(_GRU_SIZES),),
        parametric=True,
    ),
    Row(
        603,
        "lstm-language-model",
        _GATED,
        "recurrent_language_model",
        {"cell": "lstm", "vocabulary": 10000, "hidden_size": 650, "num_layers": 2},
        "nnirp",
        "seq",
        (Grid(((35, 1), (35, 4), (35, 20), (128, 1), (128, 4))),),
        (Grid((*points((35,), (2, 3, 6, 8, 12, 16, 32)), *points((128,), (2, 3, 6, 8)))),),
    ),
    _row(
        606,
        "awd-lstm-wikitext-2",
        "tied_language_model",
        "seq",
        Grid(points((70,), _BATCHES[:10])),
        vocabulary=33278,
        embedding=400,
        hidden_size=1150,
        num_layers=3,
    ),
    parametric(
        607,
        "tagger-parametric",
        _GATED,
        "sequence_tagger",
        "seq",
        Grid(points((40,), _BATCHES), _TAGGER_SIZES),
        library="nnirp",
        arguments={"vocabulary": 30000, "labels": 17},
    ),
    parametric(
        608,
        "deepar-parametric",
        _GATED,
        "probabilistic_forecaster",
        "steps",
        Grid(points((192,), _BATCHES), _FORECAST_SIZES),
        library="nnirp",
        arguments={"covariates": 4},
    ),
    _row(
        609,
        "deep-knowledge-tracing",  # the sizes for the 124 skills of ASSISTments
        "knowledge_tracer",
        "steps",
        Grid(points((200,), _BATCHES)),
        skills=124,
        hidden_size=200,
    ),
    _row(
        610,
        "rnn-transducer",
        "transducer",
        "frames",
        Grid(points((100,), _BATCHES[:8])),
        features=240,
        hidden_size=1024,
        prediction_size=320,
        joint_size=512,
        classes=29,
    ),
)
