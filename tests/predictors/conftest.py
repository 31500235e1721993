import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from synthetic import make_store


@pytest.fixture(scope="session")
def store():
    return make_store()


@pytest.fixture(scope="session")
def parts(store):
    return store.subset(range(32)), store.subset(range(32, 44)), store.subset(range(44, 48))
