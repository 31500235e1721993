import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from nn_meter_tables import plain, residual, write_tables

from nnirp.importers.nn_meter_configurations import configurations, equal_runs, topology_digests
from nnirp.importers.nn_meter_source import read_tables


def read(tmp_path, *networks):
    return read_tables(write_tables(tmp_path, list(networks), phone_ms=[1.0] * len(networks)))


def test_widths_do_not_make_a_topology_and_wiring_does(tmp_path):
    tables = read(tmp_path, ("a", plain(8)), ("a", plain(16, size=12)), ("a", plain(8, depth=2)), ("b", residual()))
    first, second, third, fourth = topology_digests(tables)
    assert first == second and len({first, third, fourth}) == 3


def test_the_order_of_edges_is_no_topology(tmp_path):
    turned = residual()
    turned.edges.reverse()
    first, second = topology_digests(read(tmp_path, ("a", residual()), ("a", turned)))
    assert first == second


def test_configurations_are_numbered_by_family_and_depth(tmp_path):
    graphs = [("b", plain(depth=3)), ("a", plain()), ("b", plain(depth=1)), ("b", plain(16, depth=3))]
    assert configurations(read(tmp_path, *graphs)).tolist() == [202, 101, 201, 202]


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from("xyz")), min_size=1, max_size=60), st.integers(1, 6))
def test_runs_are_bounded_ordered_and_keep_a_key_whole(keys, most):
    runs = equal_runs(keys, most)
    assert sorted(set(runs)) == list(range(len(set(runs)))) and len(set(runs)) <= most
    assert len(set(zip(keys, runs, strict=True))) == len(set(keys))
    order = np.argsort(np.array([f"{k}{name}" for k, name in keys]), kind="stable")
    assert np.all(np.diff(np.array(runs)[order]) >= 0)


@given(st.integers(1, 8), st.integers(1, 20))
def test_keys_that_occur_once_are_cut_evenly(most, each):
    counts = np.bincount(equal_runs([(i, "") for i in range(most * each)], most))
    assert counts.tolist() == [each] * most
