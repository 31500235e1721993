import json

import pytest

from nnirp.errors import InputError
from nnirp.features.vocabulary import load_vocabulary, read_vocabulary


def test_has_88_operators_behind_the_unknown_one():
    vocabulary = load_vocabulary()
    assert len(vocabulary) == 89
    assert vocabulary.index["<UNK>"] == 0
    assert vocabulary.operators[vocabulary.index["Conv"]] == "Conv"


def test_another_vocabularys_features_are_refused():
    load_vocabulary().require(load_vocabulary().digest, "900.tar.gz")
    with pytest.raises(InputError, match=r"900\.tar\.gz: encoded with vocabulary 000"):
        load_vocabulary().require("0" * 64, "900.tar.gz")


def test_edited_file_is_refused(tmp_path):
    content = {"version": 1, "operators": ["<UNK>", "Conv"], "digest": load_vocabulary().digest}
    (tmp_path / "v.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="does not match"):
        read_vocabulary(tmp_path / "v.json")
