"""Puts this folder's graph builder, `onnx_text`, and the agreement benchmarks within reach of its tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]
