import shutil

import pytest

from nnirp.tracking.store import Store


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """An empty store, migrated once: a fresh MLflow database costs seconds."""
    root = tmp_path_factory.mktemp("migrated")
    store = Store(root, f"sqlite:///{root / 'mlruns' / 'mlflow.db'}")
    assert store.client is not None
    return root


@pytest.fixture
def store(migrated, tmp_path):
    shutil.copytree(migrated / "mlruns", tmp_path / "mlruns")
    return Store(tmp_path, f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
