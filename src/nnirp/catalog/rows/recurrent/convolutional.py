"""Convolutions followed by recurrent layers: 604, 605, 611–616."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import parametric

_CONVOLUTIONAL = "convolutional_recurrent_network"
_BATCHES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
_SPEECH_SIZES = zip_sweep(hidden_size=(256, 256, 512), num_layers=(2, 4, 3))
_LINE_SIZES = zip_sweep(
    cell=("lstm", "gru", "lstm"), width=(16, 32, 48), hidden_size=(96, 192, 256), num_layers=(1, 3, 2)
)
_KEYWORD_SIZES = zip_sweep(cell=("gru", "lstm"), filters=(32, 64), hidden_size=(32, 160), num_layers=(2, 3))


def _row(identifier: int, name: str, builder: str, size_kind: str, *more: Grid, **arguments) -> Row:
    return Row(identifier, name, _CONVOLUTIONAL, builder, arguments, "nnirp", size_kind, more=more)


ROWS = (
    Row(
        604,
        "crnn",
        _CONVOLUTIONAL,
        "convolutional_recurrent_recogniser",
        {"hidden_size": 256, "num_layers": 2, "classes": 37},
        "nnirp",
        "im",
        (Grid(((100, 1), (100, 4), (100, 16), (256, 1), (256, 4))),),
        (Grid((*points((100,), (2, 3, 5, 6, 8, 10, 12, 24, 32)), *points((256,), (2, 3, 5, 6, 8, 10, 12)))),),
    ),
    Row(
        605,
        "deep-speech-parametric",
        _CONVOLUTIONAL,
        "speech_recogniser",
        {"classes": 29},
        "nnirp",
        "frames",
        (Grid(((100, 1), (200, 1), (200, 2)), _SPEECH_SIZES),),
        (Grid((*points((100,), _BATCHES[1:]), *points((200,), _BATCHES[2:10])), _SPEECH_SIZES),),
        parametric=True,
    ),
    parametric(
        611,
        "crnn-parametric",
        _CONVOLUTIONAL,
        "convolutional_recurrent_recogniser",
        "im",
        Grid(points((160,), _BATCHES), _LINE_SIZES),
        library="nnirp",
        arguments={"classes": 97},
    ),
    _row(
        612,
        "deep-speech-2",  # with five recurrent layers of 800 units
        "speech_recogniser",
        "frames",
        Grid(points((100,), _BATCHES[:9])),
        hidden_size=800,
        num_layers=5,
        classes=29,
    ),
    _row(
        613,
        "tacotron2-encoder",
        "phoneme_encoder",
        "seq",
        Grid(points((96,), _BATCHES)),
        symbols=148,
        hidden_size=512,
    ),
    _row(
        614,
        "tacotron-encoder",
        "bank_encoder",
        "seq",
        Grid(points((80,), _BATCHES)),
        symbols=70,
        embedding=256,
        width=128,
        bank=16,
        highways=4,
    ),
    parametric(
        615,
        "keyword-spotter-parametric",
        _CONVOLUTIONAL,
        "keyword_spotter",
        "frames",
        Grid(points((151,), _BATCHES), _KEYWORD_SIZES),
        library="nnirp",
        arguments={"classes": 12},
    ),
    _row(
        616,
        "lstnet",  # the sizes for hourly electricity consumption: a week of 321 customers
        "skip_forecaster",
        "steps",
        Grid(points((168,), _BATCHES)),
        channels=321,
        filters=100,
        hidden_size=100,
        skip=24,
        skip_size=5,
        window=24,
    ),
)
