import json


def test_a_design_space_without_a_predictor_says_what_to_pull(project, nnirp):
    (project / "space.yaml").write_text("{builder: parametric_plain, family: convolutional, vary: {width: [8, 16]}}")
    code, _, error = nnirp("explore", "space.yaml")
    assert code == 2 and "dvc pull" in error
    assert nnirp("explore", "gone.yaml")[0] == 2


def test_a_file_that_is_no_space_is_refused_in_one_line(project, nnirp):
    (project / "space.yaml").write_text(json.dumps({"builder": 3}))
    code, _, error = nnirp("explore", "space.yaml")
    assert code == 2 and len([line for line in error.splitlines() if line.startswith("error:")]) == 1
