import pytest

from nnirp.errors import InputError
from nnirp.profiling.journal import MAIN, Journal


def test_a_name_that_leaves_the_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="plain file name"):
        Journal(tmp_path).write(MAIN, "../x", {})


def test_two_campaigns_cannot_share_a_folder(tmp_path):
    with Journal(tmp_path).locked(), pytest.raises(InputError, match="running"), Journal(tmp_path).locked():
        pass


def test_what_killed_workers_left_is_removed(tmp_path):
    (tmp_path / "worker-abc").mkdir()
    with Journal(tmp_path).locked():
        assert not (tmp_path / "worker-abc").exists()


def test_another_device_is_refused_by_what_differs(tmp_path):
    journal = Journal(tmp_path)
    journal.identify("a", {"threads": 1, "digest": "x"})
    with pytest.raises(InputError, match="threads"):
        journal.identify("a", {"threads": 2, "digest": "y"})


def test_half_written_drafts_vanish(tmp_path):
    journal = Journal(tmp_path)
    (tmp_path / MAIN / "s.json.draft").write_text("{")
    assert Journal(tmp_path).read(MAIN, "s") is None
    assert not list((tmp_path / MAIN).iterdir())
    journal.write(MAIN, "s", {"a": 1})
    assert journal.read(MAIN, "s") == {"a": 1}
