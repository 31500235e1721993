import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nnirp.errors import InputError
from nnirp.splits.audit import audit
from nnirp.splits.index import PARTS
from nnirp.splits.protocols import PROTOCOLS, canonical_manifest, describe, make_split

ATOMIC = {"config": "configuration", "cluster": "cluster", "subfamily": "sub_family"}
few = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
datasets = st.fixed_dictionaries(
    {
        "configurations": st.integers(3, 8),
        "seed": st.integers(0, 99),
        "batches": st.sampled_from([(1,), (1, 2), (1, 4, 16)]),
    }
)


def part_of(fold):
    return {s: p for p in PARTS for s in fold.part(p)}


@few
@given(datasets, st.integers(0, 5))
def test_every_protocol_is_complete_disjoint_and_free_of_leaks(make, dataset, seed):
    store = make.store_of(make.rows_of(**dataset))
    data = describe(store)
    for protocol in PROTOCOLS:
        index = make_split(protocol, data, seed)
        for fold in index.folds:
            names = [s for p in PARTS for s in fold.part(p)]
            assert sorted(names) == sorted(store.samples["sample"])
            assert all(fold.part(p) for p in PARTS)
        assert audit(index, store).leaks == ()


@few
@given(datasets, st.randoms(use_true_random=False))
def test_splits_do_not_depend_on_row_order(make, dataset, random):
    rows = make.rows_of(**dataset)
    shuffled = random.sample(rows, len(rows))
    first, second = (describe(make.store_of(r)) for r in (rows, shuffled))
    for protocol in PROTOCOLS:
        assert make_split(protocol, first, 3).to_json() == make_split(protocol, second, 3).to_json()


@few
@given(datasets)
def test_units_stay_whole(make, dataset):
    store = make.store_of(make.rows_of(**dataset))
    for protocol, column in ATOMIC.items():
        part = part_of(make_split(protocol, store).folds[0])
        parts = store.samples.assign(part=store.samples["sample"].map(part)).groupby(column)["part"].nunique()
        assert (parts == 1).all()


def test_each_family_is_held_out_once(store):
    index = make_split("family", store)
    family = dict(zip(store.samples["sample"], store.samples["family"], strict=True))
    assert [f.name for f in index.folds] == ["conv", "decoder", "encoder"]
    for fold in index.folds:
        assert {family[s] for s in fold.test} == {fold.name}
        assert fold.name not in {family[s] for s in fold.train + fold.val}


def test_size_trains_on_less_work_than_it_tests(store):
    fold = make_split("size", store).folds[0]
    frame = store.samples.assign(work=store.u[:, 2], part=store.samples["sample"].map(part_of(fold)))
    for _, group in frame.groupby("family"):
        work = group.groupby("part")["work"]
        assert work.max()["train"] < work.min()["val"] and work.max()["val"] < work.min()["test"]


def test_fewshot_adds_at_most_k_samples_of_each_test_cluster(make):
    store = make.store_of(make.rows_of(batches=range(1, 13)))
    base = part_of(make_split("cluster", store).folds[0])
    for k in (1, 5, 20):
        part = part_of(make_split(f"fewshot-{k}", store).folds[0])
        moved = [s for s in base if part[s] != base[s]]
        assert all((base[s], part[s]) == ("test", "train") for s in moved)
        frame = store.samples.set_index("sample")
        held = frame.loc[[s for s in base if base[s] == "test"]].groupby("cluster").size()
        got = frame.loc[moved].groupby("cluster").size()
        assert all(got[c] == min(k, held[c] // 2) for c in held.index)


@few
@given(datasets)
def test_coverage_is_what_brute_force_counts(make, dataset):
    store = make.store_of(make.rows_of(**dataset))
    index = make_split("cluster", store)
    threshold = index.dataset["coverage_threshold"]
    part = part_of(index.folds[0])
    bigrams, trained = {}, set()
    for i, row in enumerate(store.samples.itertuples()):
        op = store.op[store.node_ptr[i] : store.node_ptr[i + 1]]
        edges = store.edge_index[:, store.edge_ptr[i] : store.edge_ptr[i + 1]]
        found = [(op[a], op[b]) for a, b in edges.T]
        if part[row.sample] == "train":
            trained |= set(found)
        else:
            bigrams.setdefault((part[row.sample], row.cluster), []).extend(found)
    for (side, cluster), found in bigrams.items():
        coverage = index.coverage["0"][side][cluster]
        assert coverage["distinct"] == pytest.approx(len(set(found) & trained) / len(set(found)), abs=1e-6)
        assert coverage["weighted"] == pytest.approx(np.mean([b in trained for b in found]), abs=1e-6)
        assert coverage["distinct"] >= threshold - 1e-6


@pytest.mark.parametrize("protocol", ["random", "config", "cluster", "subfamily", "family"])
def test_new_samples_of_known_configurations_move_nobody(make, protocol):
    before = make_split(protocol, make.store_of(make.rows_of(batches=(1, 2))))
    after = make_split(protocol, make.store_of(make.rows_of(batches=(1, 2, 8, 32))))
    for old, new in zip(before.folds, after.folds, strict=True):
        part = part_of(new)
        assert all(part[s] == p for s, p in part_of(old).items())


def test_equal_graphs_are_never_cut_apart(make):
    rows = make.rows_of(configurations=4)
    copies = [(names | {"sample": f"copy-{names['sample']}"}, make.permuted(g, 1)) for names, g in rows]
    store = make.store_of(rows + copies)
    for protocol in PROTOCOLS:
        for fold in make_split(protocol, store).folds:
            part = part_of(fold)
            assert all(part[s] == part[s.removeprefix("copy-")] for s in part)


def test_low_coverage_is_kept_in_training_and_said(make):
    rows = make.rows_of(configurations=5)
    odd = rows[0][0] | {"sample": "odd", "configuration": 99, "cluster": "odd", "sub_family": "odd"}
    index = make_split("cluster", make.store_of([*rows, (odd, make.chain([11, 12, 13, 14, 15, 16]))]))
    assert "odd" in index.folds[0].train
    assert any(
        line.startswith("cluster odd: kept in training: the rest covers only 0.000") for line in index.explanation
    )


def test_data_too_small_for_the_threshold_lower_it_and_say_so(make):
    family = {"family": "conv", "sub_family": "s", "batch": 1}
    rows = [
        (family | {"sample": f"s{i}", "configuration": i, "cluster": f"c{i}"}, make.chain(range(6 * i, 6 * i + 6)))
        for i in range(4)
    ]
    index = make_split("cluster", make.store_of(rows))
    assert index.folds[0].val and index.folds[0].test
    assert any("the data are too small" in line for line in index.explanation)


def test_held_out_shares_are_balanced_over_families(make):
    store = make.store_of(make.rows_of(configurations=20, batches=(1,)))
    manifest = canonical_manifest(make_split("cluster", store), store)
    family = dict(zip(store.samples["configuration"], store.samples["family"], strict=True))
    for side in ("val", "test"):
        counts = [sum(family[c] == f for c in manifest[side]) for f in set(family.values())]
        assert min(counts) >= 3 and max(counts) <= 5


def test_unknown_protocols_and_tiny_data_are_refused(make, store):
    with pytest.raises(InputError, match="unknown protocol 'cluter'; choose one of: random"):
        make_split("cluter", store)
    with pytest.raises(InputError, match="at least 3"):
        make_split("config", make.store_of(make.rows_of(configurations=2, families=("conv",))))
