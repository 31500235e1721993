"""Downloads from a local stand-in of the hub: the listing, single files, ranges, redirects, and what goes wrong."""

import hashlib
import json
import random
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("huggingface_hub")

from nnirp.cli import app, guarded
from nnirp.errors import InputError, NnirpError
from nnirp.layers.fetch import PARTIAL, fetch

REPOSITORY, COMMIT = "acme/latencies", "c" * 40
LARGE = "pyg-features/900.tar.gz"


class Hub(BaseHTTPRequestHandler):
    """Answers the four kinds of request that a download makes; `server.state` says what goes wrong."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        state, path = self.server.state, self.path.split("?")[0]
        base = f"/api/datasets/{REPOSITORY}"
        if not path.startswith(("/cdn/", base + "/", f"/datasets/{REPOSITORY}/")):
            return self._json(401, {"error": "Invalid username or password."}, {"X-Error-Code": "RepoNotFound"})
        if state.get("gated"):
            return self._json(403, {"error": "gated"}, {"X-Error-Code": "GatedRepo"})
        if path.startswith(f"{base}/revision/"):
            if path.rsplit("/", 1)[1] not in ("main", COMMIT):
                return self._json(404, {"error": "no"}, {"X-Error-Code": "RevisionNotFound"})
            return self._json(200, {"id": REPOSITORY, "sha": COMMIT, "siblings": []})
        if path.startswith(f"{base}/tree/{COMMIT}"):
            return self._json(200, [self._entry(name, content) for name, content in state["files"].items()])
        if path.startswith("/cdn/"):
            return self._content(path.removeprefix("/cdn/"))
        name = path.removeprefix(f"/datasets/{REPOSITORY}/resolve/{COMMIT}/")
        if name.endswith(".tar.gz"):
            self.send_response(302)
            self.send_header("Location", f"/cdn/{name}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        return self._content(name)

    def _entry(self, name, content):
        entry = {"type": "file", "path": name, "size": len(content), "oid": blob(content)}
        if name.endswith(".tar.gz"):
            entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return entry

    def _content(self, name):
        state = self.server.state
        content = state.get("corrupt", {}).get(name, state["files"][name])
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(found[1]) if found else 0
        state["requests"].append((name, start))
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = state["cut"].pop(name, None)
        self.wfile.write(content[start:stop])
        if stop is not None:
            self.wfile.flush()
            if state.get("stall"):
                state["stall"].wait(30)
            self.close_connection = True

    def _json(self, status, content, headers=()):
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def blob(content):
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


@pytest.fixture
def hub(monkeypatch):
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", "/nonexistent")
    large = random.Random(0).randbytes(11 << 20)
    files = {
        "README.md": b"a card",
        "manifests/splits.json": b'{"train": [], "val": [], "test": []}',
        "manifests/../../evil.json": b"{}",
        "profiling/900.tar.gz": b"p" * 900,
        "profiling/901.tar.gz": b"q" * 901,
        LARGE: large,
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    server.state = {"files": files, "cut": {}, "requests": []}
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield server.state
    server.shutdown()
    server.server_close()


def names(root):
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and ".work" not in p.parts)


def test_a_layer_or_a_configuration_or_everything_is_fetched_with_the_manifests(hub, tmp_path):
    done = fetch(REPOSITORY, tmp_path / "one", layers=["profiling"], ids=[901])
    assert done.commit == COMMIT and done.downloaded_bytes == 901 + len(hub["files"]["manifests/splits.json"])
    assert names(tmp_path / "one") == ["manifests/splits.json", "profiling/901.tar.gz"]
    fetch(REPOSITORY, tmp_path / "all")
    assert names(tmp_path / "all") == sorted(set(hub["files"]) - {"README.md", "manifests/../../evil.json"})
    assert (tmp_path / "all" / LARGE).read_bytes() == hub["files"][LARGE]
    assert not (tmp_path / "all" / PARTIAL).exists() and not list(tmp_path.glob("evil*"))


def test_what_is_there_is_not_fetched_again_and_what_was_damaged_is(hub, tmp_path):
    fetch(REPOSITORY, tmp_path, layers=["profiling"])
    (tmp_path / "profiling" / "900.tar.gz").write_bytes(b"x" * 900)
    hub["requests"].clear()
    fetch(REPOSITORY, tmp_path, layers=["profiling"])
    assert hub["requests"] == [("profiling/900.tar.gz", 0)]


def test_a_connection_cut_in_the_middle_goes_on_where_it_stopped(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1 << 20)
    hub["cut"][LARGE] = 5 << 20
    fetch(REPOSITORY, tmp_path, layers=["pyg-features"])
    starts = [start for name, start in hub["requests"] if name == LARGE]
    assert len(starts) == 2 and 4 << 20 <= starts[1] <= 5 << 20
    assert (tmp_path / LARGE).read_bytes() == hub["files"][LARGE]


def test_a_killed_download_goes_on_where_it_stopped(hub, tmp_path):
    hub["stall"], hub["cut"][LARGE] = threading.Event(), (10 << 20) + 4096
    code = "import sys; from nnirp.layers.fetch import fetch; fetch(sys.argv[1], sys.argv[2], ids=[900])"
    process = subprocess.Popen([sys.executable, "-c", code, REPOSITORY, str(tmp_path)])
    deadline = time.monotonic() + 60
    while not any(p.stat().st_size >= 10 << 20 for p in (tmp_path / PARTIAL).glob("*.part")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    hub.pop("stall").set()
    assert not (tmp_path / LARGE).exists()
    done = fetch(REPOSITORY, tmp_path, ids=[900])
    assert hub["requests"][-1] == (LARGE, 10 << 20) and done.downloaded_bytes == 1 << 20
    assert (tmp_path / LARGE).read_bytes() == hub["files"][LARGE]


@pytest.mark.parametrize("name", ["profiling/900.tar.gz", "manifests/splits.json"])
def test_a_file_that_is_not_what_the_repository_records_is_refused_and_deleted(hub, tmp_path, name):
    hub["corrupt"] = {name: bytes(len(hub["files"][name]))}
    with pytest.raises(NnirpError, match=rf"{re.escape(name)} .*is not the file that the repository records"):
        fetch(REPOSITORY, tmp_path, layers=["profiling"])
    assert not (tmp_path / name).exists() and not list((tmp_path / PARTIAL).glob("*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repository": "acme/nothing"}, "does not exist, or is private and no token is set"),
        ({"repository": "no name"}, "no repository name"),
        ({"revision": "v9"}, "no revision 'v9'"),
        ({"ids": [7]}, "no archive of configuration 7; it has 2: 900, 901"),
        ({"layers": ["onnx-graphs"]}, "no archive of onnx-graphs; it holds profiling, pyg-features"),
        ({"layers": ["weights"]}, "no layer is named 'weights'"),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_written(hub, tmp_path, arguments, message):
    with pytest.raises(InputError, match=message):
        fetch(**{"repository": REPOSITORY, "output": tmp_path / "root", **arguments})
    assert not (tmp_path / "root").exists()


def test_the_command_answers_as_json_and_refuses_with_code_2(hub, tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["nnirp", "fetch", *arguments, "--output", str(tmp_path / "root"), "--json"])
        try:
            return guarded(app)
        except SystemExit as stop:
            return stop.code or 0

    assert run(REPOSITORY, "--layer", "profiling", "--id", "900") == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["manifests/splits.json", "profiling/900.tar.gz"]
    assert run("acme/nothing") == 2 and capsys.readouterr().err.startswith("error: dataset acme/nothing")


def test_a_gated_repository_says_so(hub, tmp_path):
    hub["gated"] = True
    with pytest.raises(InputError, match="approved users"):
        fetch(REPOSITORY, tmp_path)


def test_without_a_network_the_message_names_the_endpoint(tmp_path):
    with pytest.raises(NnirpError, match=r"http://127\.0\.0\.1:9 did not answer.*HF_ENDPOINT"):
        fetch(REPOSITORY, tmp_path, endpoint="http://127.0.0.1:9")


def test_a_disk_that_is_too_small_is_noticed_before_the_download(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("usage", (), {"free": 1000})())
    with pytest.raises(NnirpError, match=r"0\.0 GB free; choose less with --layer"):
        fetch(REPOSITORY, tmp_path)
    assert [name for name, _ in hub["requests"]] == []
