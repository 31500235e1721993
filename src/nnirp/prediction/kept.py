"""Where the weights of trained predictors are kept."""

from pathlib import Path

from nnirp.errors import NotPulledError


def find_weights(models: Path, predictor: str, protocol: str = "cluster") -> Path:
    """The folder with the kept weights of a predictor.

    Raises:
        NotPulledError: none is there.
    """
    found = sorted((models / protocol / predictor).glob("*/weights"))
    if not found:
        kept = sorted({f"{path.parts[-3]} ({path.parts[-4]})" for path in models.glob("*/*/*/weights")})
        there = f"weights are there of: {', '.join(kept)}" if kept else "`dvc pull models` brings the published ones"
        raise NotPulledError(f"no weights of predictor {predictor!r} for protocol {protocol!r} in {models}; {there}")
    return found[0]
