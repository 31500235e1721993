"""FLOP formulas of ONNX operators, one file an operator group, so that each can be read beside its source.

One multiply-accumulate is two FLOPs. Every other primitive of an operator's definition (add, multiply, divide, compare,
max, exp, log, sqrt, erf, tanh) is one FLOP an element, as the ONNX operator specification writes the operator down.
"""
