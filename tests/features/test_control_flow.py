from onnx_text import onnx_graph

from nnirp.features import encode

IF = """ net (bool c, float[4,4] x) => (float[4,4] y) <float[4,4] w> {
  y = If(c)<then_branch = a () => (float[4,4] t) { t = Relu(x) },
            else_branch = b () => (float[4,4] e) <float[4,4] m> { m = MatMul(x, w) e = Tanh(m) }>
}"""
LOOP = """ net (float[4,4] x) => (float[4,4] y) <int64 n = {5}, bool go = {1}, float[4,4] w> {
  y = Loop(n, go, x)<body = step (int64 i, bool k, float[4,4] h) => (bool k2, float[4,4] o) {
    k2 = Identity(k) o = MatMul(h, w) }>
}"""
FUNCTION = """<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
net (float[4,4] x) => (float[4,4] y) { a = local.twice(x) y = local.twice(a) }
<domain: "local", opset_import: ["" : 20]> twice (x) => (y) { s = Relu(x) y = Exp(s) }"""


def test_an_if_counts_as_its_costlier_branch_and_says_so():
    encoded = encode(onnx_graph(IF))
    assert encoded.op_names == ("MatMul", "Tanh")
    assert encoded.total_flops == 2 * 64 + 16
    assert "else_branch" in encoded.warnings[0]


def test_what_a_condition_is_computed_from_counts_too():
    text = IF.replace("bool c, float[4,4] x", "float[4,4] x, float[4,4] z").replace(
        "  y = If(c)",
        "  s = MatMul(z, w) m0 = ReduceMax<keepdims=0>(s) half = Constant<value = float {0.5}>() c = Greater(m0, half) y = If(c)",
    )
    assert encode(onnx_graph(text)).op_names == ("MatMul", "Tanh", "MatMul", "ReduceMax", "Greater")


def test_a_constant_condition_decides():
    model = onnx_graph(IF.replace("(bool c, ", "(").replace("<float[4,4] w>", "<float[4,4] w, bool c = {1}>"))
    assert encode(model).op_names == ("Relu",)


def test_a_loop_costs_its_iterations_and_reads_what_it_captures():
    encoded = encode(onnx_graph(LOOP))
    assert encoded.op_names == ("Loop",)
    assert encoded.total_flops == 5 * 2 * 64
    assert encoded.memory[0] == 64
    assert encoded.warnings == ()


def test_a_loop_of_unknown_length_counts_once_and_warns():
    text = LOOP.replace("(float[4,4] x)", "(int64 n, float[4,4] x)", 1).replace("int64 n = {5}, ", "")
    encoded = encode(onnx_graph(text))
    assert encoded.total_flops == 2 * 64
    assert "one iteration" in encoded.warnings[0]


def test_local_functions_are_inlined():
    import onnx
    from onnx import parser, shape_inference
    from onnx.inliner import inline_local_functions

    model = parser.parse_model(FUNCTION)
    inlined = shape_inference.infer_shapes(inline_local_functions(model))
    del model.graph.value_info[:]
    model.graph.value_info.extend(inlined.graph.value_info)
    assert isinstance(model, onnx.ModelProto)
    assert encode(model).op_names == ("Relu", "Exp", "Relu", "Exp")
