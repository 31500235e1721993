import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "predictors"))
from synthetic import make_store


@pytest.fixture(scope="session")
def store():
    return make_store()


@pytest.fixture(scope="session")
def parts_of_chains(store):
    """Training, validation, and graphs with an operator that neither has."""
    return store.subset(range(32)), store.subset(range(32, 48)), make_store(4, seed=9, operators=(1, 26)).all()
