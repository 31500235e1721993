import json

import pytest

from nnirp.catalog import Catalog, load_catalog
from nnirp.errors import InputError, NotPulledError


def test_json_round_trip_is_exact_and_deterministic(tmp_path):
    catalog = load_catalog("starter")
    path = tmp_path / "catalog.json"
    path.write_text(catalog.to_json(), encoding="utf-8")
    again = Catalog.from_json(path)
    assert again.to_json() == catalog.to_json()
    assert [(c.id, c.name, c.builder) for c in again.configurations] == [
        (c.id, c.name, c.builder) for c in catalog.configurations
    ]


def test_sample_and_id_find_the_configuration():
    catalog = load_catalog("starter")
    configuration, sample = catalog.sample("resnet18_im224_b4_fp32")
    assert (configuration.name, sample.batch, sample.size) == ("resnet18", 4, 224)
    assert catalog.by_id(configuration.id) is configuration


def test_unknown_sample_and_id_are_refused():
    with pytest.raises(InputError, match="nope"):
        load_catalog("starter").sample("nope")
    with pytest.raises(InputError, match="99999"):
        load_catalog("starter").by_id(99999)


def test_absent_file_says_how_to_bring_it(tmp_path):
    with pytest.raises(NotPulledError, match="dvc pull"):
        Catalog.from_json(tmp_path / "catalog.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("schema"),
        lambda content: content.update(schema=99),
        lambda content: content["configurations"][0].pop("family"),
        lambda content: content["configurations"][0].update(family="recurrent"),
        lambda content: content["configurations"].append(content["configurations"][0]),
        lambda content: content["configurations"][0]["samples"][0].update(batch=0),
    ],
)
def test_broken_catalog_is_refused(tmp_path, change):
    content = json.loads(load_catalog("starter").to_json())
    change(content)
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="not a catalog"):
        Catalog.from_json(path)
