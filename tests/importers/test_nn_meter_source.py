import numpy as np
import pyarrow as pa
import pytest
from nn_meter_tables import plain, residual, write_tables
from pyarrow import parquet

from nnirp.errors import InputError, NotPulledError
from nnirp.importers.nn_meter_source import read_tables, source_digest


@pytest.fixture
def folder(tmp_path):
    return write_tables(tmp_path, [("a", plain()), ("b", residual())], phone_ms=[1.0, None], tablet_ms=[2.0, 3.0])


def rewrite(folder, name, change):
    path = folder / f"{name}.parquet"
    parquet.write_table(change(parquet.read_table(path)), path)


def test_a_graph_is_read_as_it_was_written(folder):
    tables, network = read_tables(folder), residual()
    graph = tables.graph(1)
    assert graph.op == network.ops and graph.edges == [list(edge) for edge in network.edges]
    assert [a + w + o for a, w, o in zip(graph.inputs, graph.window, graph.outputs, strict=True)] == network.rows
    assert list(tables.labels) == ["phone", "tablet"] and np.isnan(tables.labels["phone"][1])


def test_taken_graphs_stay_what_they_are(folder):
    tables = read_tables(folder)
    taken = tables.take([1, 0])
    assert taken.graph(0) == tables.graph(1) and taken.graph(1) == tables.graph(0)
    assert taken.family.tolist() == ["b", "a"] and taken.labels["tablet"].tolist() == [3.0, 2.0]


def test_a_missing_table_is_named(folder):
    (folder / "edges.parquet").unlink()
    with pytest.raises(NotPulledError, match=r"edges\.parquet is missing"):
        read_tables(folder)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("nodes", lambda t: t.drop_columns(["stride_h"]), "no column stride_h"),
        ("labels", lambda t: t.drop_columns(["phone_ms", "tablet_ms"]), "no column <device>_ms"),
        ("labels", lambda t: t.take(pa.array([1, 0])), "numbered from 0"),
        ("labels", lambda t: t.slice(0, 1), "has no label row"),
        ("nodes", lambda t: t.take(pa.array(range(len(t)))[::-1]), "do not follow each other"),
        ("labels", lambda t: t.set_column(1, "family", pa.array(["a", None])), "column family has empty cells"),
        ("edges", lambda t: t.rename_columns(["graph", "target", "source"]), "does not lead forward"),
    ],
)
def test_tables_that_do_not_fit_are_refused(folder, name, change, says):
    rewrite(folder, name, change)
    with pytest.raises(InputError, match=says):
        read_tables(folder)


def test_a_file_that_is_no_parquet_is_refused(folder):
    (folder / "nodes.parquet").write_text("graph,op")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_tables(folder)


def test_another_table_has_another_digest(folder):
    before = source_digest(folder)
    rewrite(folder, "labels", lambda t: t.append_column("other_ms", pa.array([1.0, 2.0])))
    assert source_digest(folder) != before
