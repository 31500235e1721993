import json

import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.splits.index import Fold, Index, read_index, write_index

INDEX = Index("cluster", (Fold("0", ("a", "b"), ("c",), ("d",)),), seed=3, explanation=("because",))


@pytest.fixture
def path(tmp_path):
    write_index(INDEX, tmp_path / "cluster.json")
    return tmp_path / "cluster.json"


def changed(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


def test_an_index_reads_back_as_it_was_written(path):
    assert read_index(path, {"a", "b", "c", "d"}) == INDEX
    assert [p.name for p in path.parent.iterdir()] == ["cluster.json"]


def test_the_digest_ignores_order_and_sees_every_move():
    reordered = Index("cluster", (Fold("0", ("b", "a"), ("c",), ("d",)),))
    moved = Index("cluster", (Fold("0", ("a",), ("b", "c"), ("d",)),))
    assert reordered.digest == INDEX.digest != moved.digest


def test_an_edited_file_is_refused_unless_its_digest_is_dropped(path):
    folds = [{"name": "0", "train": ["a"], "val": [], "test": ["d"]}]
    with pytest.raises(InputError, match="does not match its digest"):
        read_index(changed(path, folds=folds))
    content = json.loads(path.read_text())
    del content["digest"]
    path.write_text(json.dumps(content))
    assert read_index(path).folds[0].val == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 9}, "schema 9"),
        ({"folds": []}, "no list 'folds'"),
        ({"protocol": None}, "names no 'protocol'"),
        ({"folds": [{"name": "0", "train": "a", "val": [], "test": []}]}, "'train' is not a list"),
        ({"folds": [{"name": "0", "train": ["a"], "val": [], "test": []}]}, "'test' is empty"),
        ({"folds": [{"name": "0", "train": ["a"], "val": ["a"], "test": ["b"]}]}, "sample 'a' is in 'train' and 'val'"),
        ({"folds": [{"name": "0", "train": ["a", "a"], "val": [], "test": ["b"]}]}, "twice in 'train'"),
        ({"folds": [{"name": "0", "train": ["z"], "val": [], "test": ["b"]}]}, "not in the data set, such as 'z'"),
        ({"folds": [3]}, "fold 0 is not an object"),
        ({"seed": "x"}, "'seed' is 'x'"),
    ],
)
def test_invalid_files_are_refused_in_one_line(path, changes, message):
    content = json.loads(path.read_text()) | changes
    del content["digest"]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        read_index(path, {"a", "b", "c", "d"})
    assert "\n" not in str(error.value)


def test_absent_files_and_text_name_the_next_command(tmp_path):
    with pytest.raises(NotPulledError, match="dvc pull"):
        read_index(tmp_path / "absent.json")
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(InputError, match="nnirp split"):
        read_index(tmp_path / "text.json")


def test_an_unknown_fold_names_those_there_are():
    assert INDEX.fold(0) is INDEX.fold("0")
    with pytest.raises(InputError, match="choose one of: 0"):
        INDEX.fold("conv")
