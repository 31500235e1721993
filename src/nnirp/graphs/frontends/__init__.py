"""Models of any framework as ONNX graphs: each framework a file, imported only when it is asked for."""

from nnirp.graphs.frontends.reading import Asked, ReadModel, read_model

__all__ = ["Asked", "ReadModel", "read_model"]
