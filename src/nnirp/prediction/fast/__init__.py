"""The champion as an ONNX network in ONNX Runtime: an answer without torch, whose import alone takes longer than everything else."""
