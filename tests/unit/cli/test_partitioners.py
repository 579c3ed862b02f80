"""Where producers put a key."""

import zlib

import pytest

from parkway.cli.partitioners import murmur2, partitions_of_key

# From org.apache.kafka.common.utils.UtilsTest, where they are signed.
KAFKAS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "hashed"), KAFKAS.items())
def test_murmur2_is_kafkas(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


def test_a_key_is_where_java_or_librdkafka_puts_it() -> None:
    assert partitions_of_key(b"foobar", 7) == sorted({(-790332482 & 0x7FFFFFFF) % 7, zlib.crc32(b"foobar") % 7})
