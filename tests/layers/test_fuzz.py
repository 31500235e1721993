"""Damaged and hostile bytes end in an InputError: no crash, no hang, no file written.

`NNIRP_FUZZ=20000` runs that many inputs; the default is a few hundred. `NNIRP_FUZZ_FILES` names more ONNX files to damage,
separated as PATH is.
"""

import gzip
import io
import os
import random
import resource
import sys
from pathlib import Path

import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from mutations import edited, mutate, rezipped

from nnirp.errors import InputError
from nnirp.features import encode, to_data
from nnirp.graphs import probing
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.frames import compress, decompress
from nnirp.layers.records import read_record
from nnirp.layers.samples import dump_sample, load_sample

INPUTS = int(os.environ.get("NNIRP_FUZZ", "210"))
SLOWEST_S = 10.0
SHIPPED = Path(onnx.__file__).parent / "backend/test/data"
PUBLISHED = Path(__file__).parents[2] / "data" / "onnx-graphs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "inside" / "cwd").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inside" / "cwd")
    return tmp_path


@pytest.fixture(scope="module")
def sample():
    """A real `.pt.zst` file, and the torch file inside."""
    graph = to_data(
        encode(onnx.shape_inference.infer_shapes(onnx.load(SHIPPED / "light/light_squeezenet.onnx"))), [1.5, 7.0]
    )
    buffer = io.BytesIO()
    torch.save(graph, buffer)
    return dump_sample(graph, 3), buffer.getvalue()


@pytest.fixture(scope="module")
def models():
    """Real ONNX files: two networks and some layers that the onnx package ships, published graphs where pulled, and those named."""
    paths = [SHIPPED / f"light/light_{name}.onnx" for name in ("squeezenet", "shufflenet")]
    paths += sorted(SHIPPED.glob("pytorch-converted/*/model.onnx"))[::20] + sorted(SHIPPED.glob("simple/*/model.onnx"))
    paths += [Path(name) for name in os.environ.get("NNIRP_FUZZ_FILES", "").split(os.pathsep) if name]
    found = [path.read_bytes() for path in paths]
    for archive in sorted(PUBLISHED.glob("*.tar.gz"))[::4]:
        found.append(min((content for _, content in iter_archive(archive)), key=len))
    return found


def cpu_seconds() -> float:
    """Processor time of this process and of those it waited for."""
    return sum(os.times()[:4])


@pytest.fixture
def four_gigabytes():
    """What a file asks for must not fill the machine: beyond this, memory is refused to the test."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def fuzz(seed, inputs, read):
    """Reads every input; returns how many were refused."""
    refused = 0
    for number in range(inputs):
        rng = random.Random(seed * 1_000_003 + number)
        started = cpu_seconds()
        try:
            read(rng)
        except InputError as error:
            assert "\n" not in str(error), f"seed {seed}, input {number}: the message has several lines"
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, input {number}: {type(error).__name__}: {error}") from error
        assert cpu_seconds() - started < SLOWEST_S, f"seed {seed}, input {number} took too long"
    return refused


def test_archives(folder, sample, models, make_record):
    write_archive(
        folder / "seed.tar.gz", [("a.json", make_record()), ("b" * 120, sample[0]), ("c", b""), ("d.onnx", models[0])]
    )
    packed = (folder / "seed.tar.gz").read_bytes()
    content, path = gzip.decompress(packed), folder / "1.tar.gz"

    def read(rng):
        path.write_bytes(mutate(packed, rng) if rng.random() < 0.3 else gzip.compress(mutate(content, rng), 1))
        for name, _ in iter_archive(path, max_member_bytes=1 << 22, max_total_bytes=1 << 24):
            assert "/" not in name and name not in {".", ".."}

    assert fuzz(1, INPUTS // 7, read) > 0
    assert sorted(p.name for p in folder.rglob("*")) == ["1.tar.gz", "cwd", "inside", "seed.tar.gz"]


def test_frames(folder):
    packed = compress(b"content " * 500) + compress(bytes(range(256)), 3)
    assert fuzz(2, INPUTS // 7, lambda rng: decompress(mutate(packed, rng), 1 << 22)) > 0


def test_samples(folder, sample):
    packed, content = sample

    def read(rng):
        way = rng.random()
        if way < 0.2:
            data = mutate(packed, rng)
        else:
            data = compress(mutate(content, rng) if way < 0.4 else rezipped(content, rng), 1)
        graph = load_sample(data, max_bytes=1 << 22)
        assert graph.x.shape[1] == 14 and torch.isfinite(graph.x).all()

    assert fuzz(3, INPUTS * 2 // 7, read) > 0
    assert sorted(p.name for p in folder.rglob("*")) == ["cwd", "inside"]


def test_models(folder, four_gigabytes, models, monkeypatch):
    monkeypatch.setattr(probing, "run_apart", forked)

    def read(rng):
        content, other = rng.choice(models), rng.choice(models)
        model = read_onnx(mutate(content, rng, other) if rng.random() < 0.4 else edited(content, rng))
        encoded = encode(model, batch=rng.choice((1, 2, None)), form=rng.choice(("canonical", "executed")))
        for values in (encoded.x, encoded.edge_attr, encoded.u, encoded.memory):
            assert torch.isfinite(torch.from_numpy(values)).all()

    assert fuzz(5, INPUTS * 2 // 7, read) > 0
    assert sorted(p.name for p in folder.rglob("*")) == ["cwd", "inside"]


def forked(given, found):
    """A process apart that starts with everything imported, which a fresh one takes a second for."""
    import sympy  # noqa: F401

    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.chdir(given.parent)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        probing.main(given, found)
    finally:
        os._exit(0)


def test_records(folder, make_record):
    packed = make_record()
    assert fuzz(4, INPUTS // 7, lambda rng: read_record(mutate(packed, rng))) > 0


@given(st.binary(max_size=400))
@settings(max_examples=max(100, INPUTS // 100), deadline=None)
def test_arbitrary_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "arbitrary.tar.gz"
    for content in (data, gzip.compress(data)):
        path.write_bytes(content)
        with pytest.raises(InputError):
            list(iter_archive(path))
    for reader in (load_sample, lambda d: load_sample(compress(d, 1)), read_record, decompress):
        with pytest.raises(InputError):
            reader(data)
