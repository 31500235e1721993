import numpy as np
import pytest

from nnirp.predictors import create
from nnirp.training.batching import BatchStream, classes_per_batch
from nnirp.training.compression import compress


class Killed(Exception):
    pass


@pytest.mark.parametrize("name", ["mlp", "dippm"])
def test_a_killed_fit_goes_on_to_the_same_result(name, store, tmp_path):
    train, val = store.subset(range(32)), store.subset(range(32, 48))
    settings = (
        {"max_epochs": 8, "patience": 8, "width": 16, "steps_per_epoch": 4}
        if name == "dippm"
        else {"max_epochs": 8, "width": 16}
    )
    whole = create(name, **settings)
    curve = []
    whole.fit(train, val, seed=5, log=lambda *point: curve.append(point))

    def die(name, value, step):
        if step == 6:
            raise Killed

    with pytest.raises(Killed):
        create(name, **settings).fit(train, val, seed=5, log=die, checkpoints=tmp_path)
    assert (tmp_path / "last.ckpt").is_file()
    resumed, again = create(name, **settings), []
    resumed.fit(train, val, seed=5, log=lambda *point: again.append(point), checkpoints=tmp_path)
    np.testing.assert_array_equal(whole.predict(val).mean, resumed.predict(val).mean)
    assert again == curve
    assert not (tmp_path / "last.ckpt").exists()


def test_training_stops_when_validation_does_not_improve(store):
    train, val = store.subset(range(32)), store.subset(range(32, 48))
    steps = []
    wrong = val.relabel(np.random.default_rng(0).normal(50, 1, val.y.shape))
    create("mlp", max_epochs=200, patience=3, learning_rate=1e-9).fit(train, wrong, log=lambda n, v, s: steps.append(s))
    assert max(steps) < 150


@pytest.fixture(scope="module")
def compressed(store):
    return compress(store.all(), create("sage", width=4)._build(store.targets))


def test_the_order_of_batches_depends_on_seed_and_epoch_alone(compressed):
    def order(seed, epoch):
        return [b.index.tolist() for b in BatchStream(compressed, 60, seed, epoch)]

    assert order(0, 1) == order(0, 1) != order(0, 2) != order(1, 2)
    assert sorted(i for batch in order(0, 1) for i in batch) == list(range(len(compressed)))


def test_processes_share_the_batches_of_an_epoch(compressed):
    shares = [[b.index.tolist() for b in BatchStream(compressed, 60, 0, 0, lambda r=r: r, 2)] for r in range(2)]
    assert len(shares[0]) == len(shares[1]) and not set(map(tuple, shares[0])) & set(map(tuple, shares[1]))


def test_small_sets_get_small_batches(compressed):
    assert classes_per_batch(compressed, 10, 10_000) <= -(-int(compressed.costs.sum()) // 10)
    assert classes_per_batch(compressed, 1, 50) == 50
