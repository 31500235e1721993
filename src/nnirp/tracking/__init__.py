"""What happened: a `run.json` beside every output, and MLflow as a view of these records."""
