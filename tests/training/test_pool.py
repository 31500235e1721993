import numpy as np
import pytest
from synthetic import make_store

from nnirp.errors import NotPulledError
from nnirp.features.vocabulary import load_vocabulary
from nnirp.predictors import create
from nnirp.training.pool import describe_pool, novel, novelty, read_pool, write_pool


def test_only_what_the_pool_lacks_is_novel(store):
    train = store.subset(range(40))
    pool = describe_pool(train)
    assert not novel(train, pool).any()
    other = make_store(3, seed=9, operators=(1, 26)).all()  # with Softmax
    flags = novel(other, pool)
    assert flags[:, 0].all() and flags[:, 1].any()
    for i in range(3):
        named = novelty(other.subset([i]), pool, load_vocabulary().operators)
        assert named.operators == ("Softmax",)
        assert [bool(named.operators), bool(named.bigrams), bool(named.sizes)] == flags[i].tolist()


def test_a_larger_graph_is_outside_the_size_range(store):
    train = store.subset(np.flatnonzero(store.nodes < 12))
    large = store.subset(np.flatnonzero(store.nodes > 14))
    assert novel(large, describe_pool(train))[:, 2].all()


def test_every_prediction_says_what_is_novel(parts_of_chains):
    train, val, other = parts_of_chains
    predictor = create("linear")
    predictor.fit(train, val)
    assert predictor.predict(other).novel[:, 0].all() and not predictor.predict(train).novel.any()
    assert predictor.novelty(other)[0].operators == ("Softmax",)


def test_a_pool_is_its_operators_bigrams_and_sizes_and_is_read_as_it_was_written(store, tmp_path):
    pool = describe_pool(store.all())
    assert pool.operators == {1, 15, 28} and all(a in pool.operators and b in pool.operators for a, b in pool.bigrams)
    assert np.allclose([pool.low[0], pool.high[0]], np.log2([store.nodes.min(), store.nodes.max()]))
    write_pool(pool, tmp_path)
    assert read_pool(tmp_path) == pool
    with pytest.raises(NotPulledError, match="dvc pull models"):
        read_pool(tmp_path / "absent")
