"""The exported champion in ONNX Runtime; nothing here imports torch."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.features.encoder import EncodedGraph
from nnirp.features.vocabulary import load_vocabulary
from nnirp.prediction.fast.reading import read
from nnirp.prediction.figures import Figures

NETWORK, CONFIG = "champion.onnx", "champion.json"


class Champion:
    """An exported champion.

    Args:
        network: the content of `champion.onnx`.
        config: that of `champion.json`.

    Raises:
        InputError: it was exported for another vocabulary.
    """

    def __init__(self, network: bytes, config: Mapping[str, Any]) -> None:
        import onnxruntime

        load_vocabulary().require(config["vocabulary"], CONFIG)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
        self.inputs = {value.name for value in self.session.get_inputs()}
        self.config = config

    def figures(self, encoded: EncodedGraph) -> Figures:
        """What it says of one graph."""
        given = {name: value for name, value in read(encoded, self.config).items() if name in self.inputs}
        mean, low, high, times = self.session.run(None, given)
        supported = np.array(self.config["supported"])
        known = [np.where(supported, v.astype(np.float64), np.nan) for v in (mean, low, high)]
        return Figures(*known, times.astype(np.float64))


def open_champion(weights: Path) -> Champion | None:
    """The exported champion of a kept predictor: beside its weights, or in the folder `champion` beside `models`; None where there is none.

    Args:
        weights: `models/<protocol>/<predictor>/<fold-seed>/weights`.

    Raises:
        InputError: it was exported from other weights than those beside it, or for another vocabulary.
    """
    root = weights.absolute().parent.parent.parent.parent.parent
    for folder in (weights, root / "champion"):
        network, config = folder / NETWORK, folder / CONFIG
        if not (network.is_file() and config.is_file()):
            continue
        content = json.loads(config.read_text(encoding="utf-8"))
        if content["weights"] == digest(weights):
            return Champion(network.read_bytes(), content)
        if folder == weights:
            raise InputError(
                f"{network} was exported from other weights; delete it, or export it again (docs/asking.md)"
            )
    return None


def digest(weights: Path) -> str:
    """SHA-256 over what a predictor's `save` wrote."""
    files = [weights / name for name in ("predictor.json", "weights.safetensors")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
