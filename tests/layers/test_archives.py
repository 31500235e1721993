import gzip
import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnirp.errors import InputError, NotPulledError, UnsafeFileError
from nnirp.layers.archives import is_flat, iter_archive, read_member, write_archive

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=150).filter(is_flat)


def crafted(path, *members, trailer=b""):
    with tarfile.open(path, "w:gz") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    if trailer:
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + trailer))
    return path


def member(name="a", data=b"x", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    return info, data


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5))
@settings(max_examples=30)
def test_round_trip_is_exact_and_deterministic(tmp_path_factory, members):
    folder = tmp_path_factory.mktemp("a")
    write_archive(folder / "1.tar.gz", members.items())
    write_archive(folder / "2.tar.gz", reversed(list(members.items())))
    assert list(iter_archive(folder / "1.tar.gz")) == sorted(members.items())
    assert (folder / "1.tar.gz").read_bytes() == (folder / "2.tar.gz").read_bytes()


def test_python_reads_what_is_written(tmp_path):
    write_archive(tmp_path / "1.tar.gz", [("b", b"2"), ("a" * 200, b"1")])
    with tarfile.open(tmp_path / "1.tar.gz") as archive:
        assert [(m.name, m.mtime, m.uid, m.uname) for m in archive] == [("a" * 200, 0, 0, ""), ("b", 0, 0, "")]


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_of_other_tools_are_read(tmp_path, form):
    name = "n" * (99 if form == tarfile.USTAR_FORMAT else 180)
    with tarfile.open(tmp_path / "1.tar.gz", "w:gz", format=form) as archive:
        archive.addfile(member("./", b"", tarfile.DIRTYPE)[0])
        archive.addfile(*(lambda i, d: (i, io.BytesIO(d)))(*member(f"./{name[2:]}")))
    assert list(iter_archive(tmp_path / "1.tar.gz")) == [(name[2:], b"x")]


@pytest.mark.parametrize(
    "bad",
    [
        member("../a"),
        member("/etc/a"),
        member("a/b"),
        member("a", b"", tarfile.SYMTYPE, "/etc/passwd"),
        member("a", b"", tarfile.LNKTYPE, "b"),
        member("a", b"", tarfile.CHRTYPE),
        member("a", b"", tarfile.FIFOTYPE),
        member("folder", b"", tarfile.DIRTYPE),
    ],
)
def test_anything_but_flat_regular_files_is_refused(tmp_path, bad):
    with pytest.raises(UnsafeFileError, match="flat name"):
        list(iter_archive(crafted(tmp_path / "1.tar.gz", bad)))


def test_duplicates_trailing_data_and_oversize_are_refused(tmp_path):
    with pytest.raises(UnsafeFileError, match="twice"):
        list(iter_archive(crafted(tmp_path / "1.tar.gz", member(), member())))
    with pytest.raises(UnsafeFileError, match="after the end"):
        list(iter_archive(crafted(tmp_path / "2.tar.gz", member(), trailer=b"more")))
    big = crafted(tmp_path / "3.tar.gz", member(data=b"0" * 5000), member("b", b"0" * 5000))
    with pytest.raises(UnsafeFileError, match="at most 4999"):
        list(iter_archive(big, max_member_bytes=4999))
    with pytest.raises(UnsafeFileError, match="at most"):
        list(iter_archive(big, max_total_bytes=9999))


def test_every_truncation_is_noticed(tmp_path):
    path = crafted(tmp_path / "1.tar.gz", member(data=bytes(range(256)) * 9))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="dvc pull"):
            list(iter_archive(path))


def test_a_missing_file_and_member_are_named(tmp_path):
    with pytest.raises(NotPulledError, match=r"dvc pull .*1\.tar\.gz"):
        list(iter_archive(tmp_path / "1.tar.gz"))
    write_archive(tmp_path / "1.tar.gz", [("a", b"1")])
    assert read_member(tmp_path / "1.tar.gz", "a") == b"1"
    with pytest.raises(InputError, match="no member 'b'"):
        read_member(tmp_path / "1.tar.gz", "b")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "c:a", "a\0", "a\n", "x" * 256])
def test_unsafe_names_are_not_written(tmp_path, name):
    with pytest.raises(InputError):
        write_archive(tmp_path / "1.tar.gz", [(name, b"")])
    assert not list(tmp_path.iterdir())
