"""Damaged and hostile bytes end in an InputError: no crash, no hang, no file written.

`NNIRP_FUZZ=20000` runs that many inputs; the default is a few hundred.
"""

import gzip
import io
import os
import random
import time
import zipfile

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nnirp.errors import InputError
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.frames import compress, decompress
from nnirp.layers.records import read_record
from nnirp.layers.samples import dump_sample, load_sample

INPUTS = int(os.environ.get("NNIRP_FUZZ", "420"))
SLOWEST_S = 10.0
INTERESTING = (
    b"\0",
    b"\xff",
    b"../",
    b"/",
    b"\xff\xff\xff\x7f",
    b"\x80" + bytes(11),
    b"c__builtin__\neval\n",
    b"1e999",
    b"NaN",
    b"{",
    b"[",
)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to four edits: flips, inserts, deletions, copies, truncation."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 4, 16, 512))
        kind = rng.randrange(7)
        if kind <= 1 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 2 and out:
            out[at % len(out)] = rng.randrange(256)
        elif kind == 3:
            out[at:at] = rng.choice(INTERESTING)
        elif kind == 4:
            del out[at : at + length]
        elif kind == 5:
            other = rng.randrange(len(out) + 1)
            out[at : at + length] = out[other : other + length]
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def rezipped(content: bytes, rng: random.Random) -> bytes:
    """A torch file with one member changed and its checksums right, so that the change is reached."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice([n for n in members if n.endswith("data.pkl")] * 4 + list(members))
    members[chosen] = mutate(members[chosen], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "inside" / "cwd").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inside" / "cwd")
    return tmp_path


def fuzz(seed, inputs, read):
    """Reads every input; returns how many were refused."""
    refused = 0
    for number in range(inputs):
        rng = random.Random(seed * 1_000_003 + number)
        started = time.perf_counter()
        try:
            read(rng)
        except InputError as error:
            assert "\n" not in str(error), f"seed {seed}, input {number}: the message has several lines"
            refused += 1
        assert time.perf_counter() - started < SLOWEST_S, f"seed {seed}, input {number} took too long"
    return refused


def test_archives(folder, make_graph, make_record):
    write_archive(
        folder / "seed.tar.gz", [("a.json", make_record()), ("b" * 120, dump_sample(make_graph(), 3)), ("c", b"")]
    )
    packed = (folder / "seed.tar.gz").read_bytes()
    content, path = gzip.decompress(packed), folder / "1.tar.gz"

    def read(rng):
        path.write_bytes(mutate(packed, rng) if rng.random() < 0.3 else gzip.compress(mutate(content, rng), 1))
        for name, _ in iter_archive(path, max_member_bytes=1 << 22, max_total_bytes=1 << 24):
            assert "/" not in name and name not in {".", ".."}

    assert fuzz(1, INPUTS * 2 // 7, read) > 0
    assert sorted(p.name for p in folder.rglob("*")) == ["1.tar.gz", "cwd", "inside", "seed.tar.gz"]


def test_frames(folder):
    packed = compress(b"content " * 500) + compress(bytes(range(256)), 3)
    assert fuzz(2, INPUTS // 7, lambda rng: decompress(mutate(packed, rng), 1 << 22)) > 0


def test_samples(folder, make_graph):
    packed = dump_sample(make_graph(), 3)
    buffer = io.BytesIO()
    torch.save(make_graph(), buffer)
    content = buffer.getvalue()

    def read(rng):
        way = rng.random()
        if way < 0.2:
            data = mutate(packed, rng)
        else:
            data = compress(mutate(content, rng) if way < 0.4 else rezipped(content, rng), 1)
        graph = load_sample(data, max_bytes=1 << 22)
        assert graph.x.shape[1] == 14 and torch.isfinite(graph.x).all()

    assert fuzz(3, INPUTS * 3 // 7, read) > 0
    assert sorted(p.name for p in folder.rglob("*")) == ["cwd", "inside"]


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
