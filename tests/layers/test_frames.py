import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nnirp.errors import InputError, UnsafeFileError
from nnirp.layers.frames import compress, decompress

SKIPPABLE = (0x184D2A50).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"


@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=4), st.integers(1, 19))
def test_all_frames_are_read(parts, level):
    assert decompress(SKIPPABLE.join(compress(part, level) for part in parts)) == b"".join(parts)


def test_large_frames_without_content_size_are_read():
    writer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    content = bytes(range(256)) * 4000
    assert decompress(writer.compress(content) + writer.flush() + compress(b"end")) == content + b"end"


@given(st.binary(min_size=1, max_size=500), st.data())
def test_a_truncated_frame_is_refused(content, data):
    packed = compress(content)
    with pytest.raises(InputError):
        decompress(packed[: data.draw(st.integers(0, len(packed) - 1))])


def test_growth_beyond_the_limit_and_garbage_are_refused():
    bomb = compress(bytes(1 << 20)) * 3
    with pytest.raises(UnsafeFileError, match="more than 2097152"):
        decompress(bomb, 2 << 20)
    assert len(decompress(bomb, 3 << 20)) == 3 << 20
    with pytest.raises(InputError, match="no frame at byte"):
        decompress(compress(b"a") + b"garbage")
