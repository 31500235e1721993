import pytest

from nnirp.errors import InputError
from nnirp.tracking.record import RunRecord, dataset_revision, read_record, write_record


def test_a_record_survives_a_round_trip(tmp_path):
    record = RunRecord(
        kind="train", name="linear cluster", metrics={"mape": 0.1}, curves={"loss": [(0, 1.0), (1, 0.5)]}
    )
    assert read_record(write_record(record, tmp_path)).digest() == record.digest()


@pytest.mark.parametrize(
    "text", ["", "{}", '{"kind": "dance", "name": "x"}', '{"kind": "train", "name": "x", "extra": 1}']
)
def test_a_file_that_is_not_a_record_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match="not a run record"):
        read_record(tmp_path / "run.json")


def test_the_dataset_revision_follows_the_bytes(tmp_path):
    (tmp_path / "pyg-features").mkdir()
    archive = tmp_path / "pyg-features" / "1.tar.gz"
    archive.write_bytes(b"one")
    first = dataset_revision(tmp_path)
    assert dataset_revision(tmp_path) == first
    archive.write_bytes(b"two")
    assert dataset_revision(tmp_path) != first
