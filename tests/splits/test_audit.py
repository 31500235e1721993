import json
from dataclasses import replace

import pytest

from nnirp.errors import InputError
from nnirp.splits.audit import audit
from nnirp.splits.index import Fold, Index
from nnirp.splits.protocols import make_split


@pytest.fixture(scope="module")
def clean(store):
    return make_split("cluster", store)


def swapped(index, moves):
    """The first fold with each sample moved to a part."""
    fold = index.folds[0]
    parts = {p: [s for s in fold.part(p) if s not in moves] for p in ("train", "val", "test")}
    for sample, part in moves.items():
        parts[part].append(sample)
    return replace(index, folds=(Fold("0", **{p: tuple(s) for p, s in parts.items()}),))


def kinds(report):
    return {leak.kind for leak in report.leaks}


def planted(make, rows, clean, graph_of, **names):
    """The data set with a copy of a test graph, under other names, in training."""
    victim = clean.folds[0].test[0]
    row = next(r for r in rows if r[0]["sample"] == victim)
    copy = (row[0] | {"sample": "planted"} | names, graph_of(row[1]))
    return make.store_of([*rows, copy]), swapped(clean, {"planted": "train"}), victim


def test_the_canonical_split_has_no_leak_and_prints_its_facts(store, clean):
    report = audit(clean, store)
    assert report.ok and report.summary() == "cluster: 1 folds, no leak"
    assert any("clusters below coverage 0.80" in line for line in report.lines())
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["leaks"] == []


def test_a_copied_graph_with_renamed_tensors_is_found(make, rows, clean):
    other = {"configuration": 999, "cluster": "x", "sub_family": "x"}
    store, index, victim = planted(make, rows, clean, lambda g: make.permuted(g, 5), **other)
    report = audit(index, store)
    assert "exact_duplicate" in kinds(report)
    assert any(victim in e for leak in report.leaks for e in leak.examples)


def test_the_same_topology_at_another_batch_is_found(make, rows, clean):
    def other_batch(graph):
        x, op, edges, edge_attr, u = make.permuted(graph, 2)
        return x + 1, op, edges, edge_attr, u

    other = {"configuration": 999, "cluster": "x", "sub_family": "x"}
    store, index, _ = planted(make, rows, clean, other_batch, **other)
    assert kinds(audit(index, store)) == {"near_duplicate"}


def test_a_configuration_in_two_parts_is_found(store, clean):
    index = swapped(clean, {clean.folds[0].test[0]: "train"})
    assert "configuration" in kinds(audit(index, store))
    assert "configuration" in kinds(audit(replace(index, protocol="config"), store))
    assert audit(replace(index, protocol="random"), store).ok


def test_a_cluster_cut_in_two_is_found(store, clean):
    frame = store.samples
    sizes = frame.groupby("cluster")["configuration"].nunique()
    cut = frame[frame["cluster"] == sizes.idxmax()]
    first = cut["configuration"].min()
    moves = {r.sample: "train" if r.configuration == first else "test" for r in cut.itertuples()}
    report = audit(swapped(clean, moves), store)
    assert "cluster" in kinds(report) and "configuration" not in kinds(report)


def test_a_sample_in_two_parts_or_twice_in_one_is_found(store, clean):
    fold = clean.folds[0]
    both = replace(clean, folds=(replace(fold, val=(*fold.val, fold.test[0])),))
    assert "sample" in kinds(audit(both, store))
    twice = replace(clean, folds=(replace(fold, train=(*fold.train, fold.train[0])),))
    assert kinds(audit(twice, store)) == {"repeated_sample"}


def test_uncovered_held_out_clusters_are_a_leak_of_the_canonical_promise(make, rows):
    odd = rows[0][0] | {"sample": "odd", "configuration": 99, "cluster": "odd", "sub_family": "odd"}
    store = make.store_of([*rows, (odd, make.chain([11, 12, 13, 14, 15, 16]))])
    index = Index("cluster", (Fold("0", tuple(r[0]["sample"] for r in rows), (), ("odd",)),))
    assert kinds(audit(index, store)) == {"coverage"}


def test_samples_left_out_and_samples_unknown(store, clean):
    fold = clean.folds[0]
    report = audit(replace(clean, folds=(replace(fold, train=fold.train[1:]),)), store)
    assert report.findings["0"]["missing"] == 1
    with pytest.raises(InputError, match="'elsewhere'"):
        audit(replace(clean, folds=(replace(fold, train=(*fold.train, "elsewhere")),)), store)
