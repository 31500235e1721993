"""The MLflow model, loaded from this file's code and not from a pickle."""

import os
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc import PythonModel

from nnirp.errors import NnirpError
from nnirp.prediction.kept import find_kept
from nnirp.prediction.predict import prepare
from nnirp.prediction.serving.requests import answer_request

ROOT_VARIABLE = "NNIRP_SERVE_ROOT"
"""The folder whose files a request may name; the server's working folder by default."""


class AskModel(PythonModel):
    """Answers requests, a row each, in the schema of `nnirp predict --json`; a bad one is a 400 with the reason."""

    def load_context(self, context: Any) -> None:
        """Find the predictor that was logged with the model."""
        root = Path(context.artifacts["root"])
        (weights,) = (root / "models").glob("*/*/*/weights")
        protocol, predictor = weights.parts[-4], weights.parts[-3]
        self.kept = find_kept(root / "models", root / "manifests", predictor, protocol)
        prepare(self.kept)  # the first request does not wait for imports

    def predict(self, context, model_input, params=None):
        """Answer every row of a table, or every dictionary of a list."""
        rows = model_input.to_dict("records") if hasattr(model_input, "to_dict") else model_input
        rows = [rows] if isinstance(rows, dict) else list(rows)
        folder = Path(os.environ.get(ROOT_VARIABLE, "."))
        answers = []
        for number, row in enumerate(rows):
            try:
                answers.append(answer_request(row, self.kept, folder).as_dict())
            except NnirpError as error:
                raise MlflowException(f"row {number}: {' '.join(str(error).split())}", BAD_REQUEST) from None
        return answers


mlflow.models.set_model(AskModel())
