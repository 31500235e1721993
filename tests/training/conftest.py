import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "predictors"))
from synthetic import make_store


@pytest.fixture(scope="session")
def store():
    return make_store()
