from nnirp.profiling.__main__ import main, overrides


def test_bad_input_is_exit_code_two(tmp_path):
    assert main([str(tmp_path / "absent.json"), str(tmp_path / "out")]) == 2
    assert main([str(tmp_path / "absent.json"), str(tmp_path / "out"), "--set", "nonsense"]) == 2
    assert main([str(tmp_path / "absent.json"), str(tmp_path / "out"), "--set", "threads=0"]) == 2
    assert not (tmp_path / "out").exists()


def test_settings_are_read_as_json_or_text():
    assert overrides(["threads=2", "isolation=sample"]) == {"threads": 2, "isolation": "sample"}
