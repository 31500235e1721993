"""The predictor as an MLflow model that answers over HTTP, in the schema of `nnirp predict --json`."""
