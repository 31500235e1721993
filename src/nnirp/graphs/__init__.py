"""From a model to a topology-only ONNX graph: export, reading, shape completion, real weights put back in by name."""
