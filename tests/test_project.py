import pytest

from nnirp.errors import InputError
from nnirp.project import find_project, publishing


def test_a_project_is_found_from_a_folder_inside_it(tmp_path, monkeypatch):
    monkeypatch.delenv("DVC_ROOT", raising=False)
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).touch()
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert find_project(inside).root == tmp_path


def test_outside_a_project_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr("nnirp.project.__file__", str(tmp_path / "site-packages" / "nnirp" / "project.py"))
    with pytest.raises(InputError, match="--project"):
        find_project(tmp_path)


def test_publishing_replaces_a_folder_only_when_the_block_ends_well(tmp_path):
    target = tmp_path / "layer"
    target.mkdir()
    (target / "old").write_text("1")
    with pytest.raises(ValueError, match="stop"), publishing(target, work=tmp_path / "work") as (draft,):
        draft.mkdir()
        raise ValueError("stop")
    assert (target / "old").read_text() == "1"
    with publishing(target, work=tmp_path / "work") as (draft,):
        draft.mkdir()
        (draft / "new").write_text("2")
    assert [p.name for p in target.iterdir()] == ["new"]
    assert not any((tmp_path / "work").iterdir())


def test_publishing_refuses_an_output_that_was_not_written(tmp_path):
    with (
        pytest.raises(RuntimeError, match=r"b\.json"),
        publishing(tmp_path / "a", tmp_path / "b.json", work=tmp_path / "w") as (a, _),
    ):
        a.mkdir()
    assert not (tmp_path / "a").exists()
