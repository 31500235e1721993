import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnirp.errors import InputError
from nnirp.features.cost import Call, Operand, call_cost
from nnirp.features.dtypes import tensor_bytes

T = onnx.TensorProto


@pytest.mark.parametrize(
    ("dtype", "expected"), [(T.FLOAT, 60), (T.FLOAT16, 30), (T.INT64, 120), (T.BOOL, 15), (T.INT4, 8), (T.UINT4, 8)]
)
def test_bytes_follow_the_element_type_and_pack_nibbles(dtype, expected):
    assert tensor_bytes(dtype, (3, 5)) == expected


def test_unknown_operator_costs_its_bytes_and_says_so():
    cost = call_cost(Call("my.Op", {}, (Operand(1, (4,)), Operand(1, (8,), True)), (Operand(1, (2,)),)))
    assert (cost.known, cost.flops, cost.input_bytes, cost.weight_bytes, cost.output_bytes) == (False, 0, 16, 32, 8)


def test_lookup_reads_rows_not_the_table():
    table, index = Operand(1, (1000, 8), True), Operand(T.INT64, (5,))
    cost = call_cost(Call("Gather", {}, (table, index), (Operand(1, (5, 8)),)))
    assert (cost.weight_bytes, cost.input_bytes) == (160, 40)


def test_constant_shape_operand_is_a_parameter_and_a_computed_one_an_input():
    data, out = Operand(1, (4, 2)), Operand(1, (8,))
    constant = call_cost(Call("Reshape", {}, (data, Operand(T.INT64, (1,), True)), (out,)))
    computed = call_cost(Call("Reshape", {}, (data, Operand(T.INT64, (1,))), (out,)))
    assert (constant.inputs, constant.weights, computed.inputs) == (1, 0, 2)


def test_operands_that_violate_the_definition_are_refused_by_name():
    with pytest.raises(InputError, match="LSTM with input shapes"):
        call_cost(Call("LSTM", {}, (Operand(1, (4, 2)),), (Operand(1, (8,)),)))


@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 8), st.integers(1, 5), st.integers(1, 5))
def test_grouped_convolutions_share_the_work_of_a_full_one(groups, cin, cout, kernel, size):
    def cost(g):
        weight = Operand(1, (cout * groups, cin * groups // g, kernel, kernel), True)
        out = Operand(1, (1, cout * groups, size, size))
        return call_cost(Call("Conv", {"group": g}, (Operand(1, (1, cin * groups, 9, 9)), weight), (out,))).flops

    assert cost(1) == groups * cost(groups)
