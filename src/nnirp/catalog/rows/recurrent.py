"""Source configurations 601–699: recurrent networks."""

from nnirp.catalog.grids import Grid, Row, zip_sweep

ROWS = (
    Row(
        601,
        "lstm-parametric",
        "gated_recurrent_network",
        "sequence_classifier",
        {"cell": "lstm", "features": 64, "bidirectional": False, "classes": 32},
        "nnirp",
        "frames",
        (
            Grid(
                ((64, 4), (128, 1), (128, 8)),
                zip_sweep(
                    hidden_size=(256, 256, 512, 512),
                    num_layers=(2, 3, 2, 3),
                    bidirectional=(False, True, False, True),
                ),
            ),
        ),
        parametric=True,
    ),
    Row(
        602,
        "gru-parametric",
        "gated_recurrent_network",
        "sequence_classifier",
        {"cell": "gru", "features": 64, "bidirectional": False, "classes": 32},
        "nnirp",
        "frames",
        (
            Grid(
                ((64, 4), (128, 1), (128, 8)),
                zip_sweep(hidden_size=(256, 512, 512), num_layers=(3, 2, 4), bidirectional=(True, False, False)),
            ),
        ),
        parametric=True,
    ),
    Row(
        603,
        "lstm-language-model",
        "gated_recurrent_network",
        "recurrent_language_model",
        {"cell": "lstm", "vocabulary": 10000, "hidden_size": 650, "num_layers": 2},
        "nnirp",
        "seq",
        (Grid(((35, 1), (35, 4), (35, 20), (128, 1), (128, 4))),),
    ),
    Row(
        604,
        "crnn",
        "convolutional_recurrent_network",
        "convolutional_recurrent_recogniser",
        {"hidden_size": 256, "num_layers": 2, "classes": 37},
        "nnirp",
        "im",
        (Grid(((100, 1), (100, 4), (100, 16), (256, 1), (256, 4))),),
    ),
    Row(
        605,
        "deep-speech-parametric",
        "convolutional_recurrent_network",
        "speech_recogniser",
        {"classes": 29},
        "nnirp",
        "frames",
        (Grid(((100, 1), (200, 1), (200, 2)), zip_sweep(hidden_size=(256, 256, 512), num_layers=(2, 4, 3))),),
        parametric=True,
    ),
)
