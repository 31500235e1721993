import csv
import re
from pathlib import Path

import pytest

from nnirp.prediction.mig.table import GPUS, load_profiles

GIVEN = Path(__file__).parents[4] / "shared" / "data" / "mig_profiles.csv"


def test_slices_of_a_card_never_exceed_it():
    for profile in load_profiles():
        gpu = GPUS[profile.gpu]
        assert 0 < profile.multiprocessors * profile.max_instances <= gpu.multiprocessors, profile
        assert 0 < profile.memory_eighths * profile.max_instances <= 8, profile


def test_the_table_agrees_with_the_collected_facts():
    if not GIVEN.is_file():
        pytest.skip(f"{GIVEN} is not here")
    ours = {(p.gpu, p.name): p for p in load_profiles()}
    for row in csv.DictReader(GIVEN.read_text().splitlines()):
        profile = ours[row["gpu"], row["profile"]]
        assert profile.max_instances == int(row["max_instances"])
        for column, mine, what in (
            ("usable_gib", profile.usable_gib, "usable memory"),
            ("sm_count", profile.multiprocessors, "multiprocessors"),
        ):
            found = re.match(r"[\d.]+", row[column])
            assert found is None or float(found[0]) == mine, row
            assert (what in profile.inferred) == (found is None or "INFERRED" in row[column]), row
