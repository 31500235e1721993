"""The served model over HTTP: an answer in the schema of `--json`, and a reason for what is refused."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from small_models import write_model

from nnirp.errors import InputError
from nnirp.graphs.frontends import Asked
from nnirp.prediction.asking import ask
from nnirp.prediction.serving import requests
from nnirp.prediction.serving.requests import answer_request


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({}, "needs one of"),
        ({"onnx": "AAAA", "path": "m.onnx"}, "needs one of"),
        ({"onnx": "no base64!"}, "base64"),
        ({"onnx": 3}, "base64"),
        ({"onnx": "AAAA"}, "no ONNX model|not an ONNX model"),
        ({"path": "../secret.onnx"}, "outside"),
        ({"path": "/etc/hostname"}, "outside"),
        ({"path": "gone.onnx"}, "does not exist"),
        ({"path": "m.onnx", "batch": "two"}, "whole number"),
        ({"path": "m.onnx", "batch": 0}, "at least 1"),
        ({"path": "m.onnx", "batch": 2.5}, "whole number"),
        ({"path": "m.onnx", "dimensions": 3}, "name: size"),
        ({"path": "m.onnx", "speed": 3}, "speed"),
    ],
)
def test_a_malformed_request_is_refused_with_the_reason(kept, tmp_path, request_, word):
    write_model(tmp_path / "m.onnx", 64)
    with pytest.raises(InputError, match=word):
        answer_request(request_, kept, tmp_path)


def test_a_file_above_the_limit_is_refused_before_it_is_decoded(kept, tmp_path, monkeypatch):
    assert requests.MAX_BYTES == 200 * 10**6
    monkeypatch.setattr(requests, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="at most 1,000"):
        answer_request({"onnx": "A" * 2000}, kept, tmp_path)
    with pytest.raises(InputError, match="at most 1,000"):
        answer_request({"path": write_model(tmp_path / "m.onnx", 64).name}, kept, tmp_path)


def test_mlflow_serves_the_saved_model(root, kept, tmp_path):
    pytest.importorskip("mlflow")
    from nnirp.prediction.serving.saving import save_served_model

    save_served_model(kept, root / "manifests", tmp_path / "model")
    path = write_model(tmp_path / "m.onnx", 100, batch="N")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "models",
        "serve",
        "-m",
        str(tmp_path / "model"),
        "--env-manager",
        "local",
    ]
    settings = {"NNIRP_SERVE_ROOT": str(tmp_path), "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env=os.environ | settings,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_for(port, server, tmp_path / "log")
        code, body = post(port, [{"onnx": encoded(path), "batch": 4}, {"path": "m.onnx", "batch": 2}])
        expected = ask(path, [Asked(batch=4)], kept, top_operators=10)[0].as_dict()
        first, second = body["predictions"]
        assert code == 200 and first == json.loads(json.dumps(expected)) | {"model": "upload"}
        assert (second["model"], second["batch"]) == ("m.onnx", 2)
        for bad, word in (({"onnx": "!"}, "base64"), ({"path": "../x"}, "outside"), ({"colour": 1}, "colour")):
            code, body = post(port, [bad])
            assert code == 400 and word in body["message"], body
        assert post(port, None, b"{")[0] == 400
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def wait_for(port, server, log):
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            if urlopen(f"http://127.0.0.1:{port}/ping", timeout=5).status == 200:
                return
        except OSError:
            time.sleep(0.4)
    raise AssertionError(log.read_text()[-2000:])


def post(port, records, content=None):
    content = content or json.dumps({"dataframe_records": records}).encode()
    request = Request(f"http://127.0.0.1:{port}/invocations", content, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=120) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        text = error.read().decode()
        return error.code, json.loads(text) if text.startswith("{") else {"message": text}
