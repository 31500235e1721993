"""What holds for every test."""

from pathlib import Path

from hypothesis import settings

MEASURING = Path(__file__).parent / "profiling"

# A loaded machine makes a property slow, not wrong.
settings.register_profile("nnirp", deadline=None)
settings.load_profile("nnirp")


def pytest_collection_modifyitems(items):
    """Tests that read the memory of this very process come first, before others have shaped its heap."""
    items.sort(key=lambda item: MEASURING not in item.path.parents)
