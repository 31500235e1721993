import numpy as np
import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.predictors import create, load, names

SMALL = {
    "mlp": {"max_epochs": 4},
    "dippm": {"max_epochs": 2, "width": 16, "steps_per_epoch": 4},
    "additive_roofline": {"max_epochs": 3, "members": 2, "width": 16, "steps_per_epoch": 4},
    "lightgbm": {"rounds": 20},
    **{
        name: {"max_epochs": 2, "width": 16, "steps_per_epoch": 4}
        for name in ("gcn", "gat", "sage", "gin", "nnlp", "brp_nas")
    },
}


@pytest.mark.parametrize("name", names())
def test_predictor_fits_predicts_and_loads_the_same_in_log2_with_an_interval(name, parts, tmp_path):
    train, val, test = parts
    predictor = create(name, **SMALL.get(name, {}))
    predictor.fit(train, val, seed=1)
    prediction = predictor.predict(test)
    assert prediction.mean.shape == (len(test), 2) and prediction.mean.dtype == np.float64
    assert np.isfinite(prediction.mean).all()
    assert (prediction.low <= prediction.mean).all() and (prediction.mean <= prediction.high).all()
    assert predictor.parameter_count() > 0
    predictor.save(tmp_path)
    again = load(tmp_path).predict(test)
    for field in ("mean", "low", "high"):
        np.testing.assert_allclose(getattr(again, field), getattr(prediction, field), rtol=1e-6)
    assert not list(tmp_path.glob("*.p*kl*"))


@pytest.mark.parametrize("name", names())
def test_a_target_without_labels_is_not_predicted_and_no_validation_gives_no_promise(name, parts):
    train, _, test = parts
    y = train.y.copy()
    y[:, 1] = np.nan
    y[0, 0] = np.nan
    predictor = create(name, **SMALL.get(name, {}))
    predictor.fit(train.relabel(y), train.subset([]), seed=0)
    prediction = predictor.predict(test)
    assert np.isnan(prediction.mean[:, 1]).all() and np.isfinite(prediction.mean[:, 0]).all()
    assert np.isinf(prediction.low[:, 0]).all()


@pytest.mark.parametrize("name", ["linear", "additive_roofline"])
def test_same_seed_gives_the_same_predictor(name, parts):
    train, val, test = parts
    results = []
    for _ in range(2):
        predictor = create(name, **SMALL.get(name, {}))
        predictor.fit(train, val, seed=3)
        results.append(predictor.predict(test).mean)
    np.testing.assert_array_equal(*results)


def test_unknown_names_settings_and_folders_are_refused(parts, tmp_path):
    with pytest.raises(InputError, match=r"expected one of: .*linear"):
        create("liner")
    with pytest.raises(InputError, match="no setting 'widht'"):
        create("mlp", widht=3)
    with pytest.raises(NotPulledError, match="dvc pull"):
        load(tmp_path)
    with pytest.raises(InputError, match="not trained"):
        create("constant").predict(parts[0])
    with pytest.raises(InputError, match="none of 32 training graphs has a label"):
        create("constant").fit(parts[0].relabel(np.full((32, 2), np.nan)), parts[1])
